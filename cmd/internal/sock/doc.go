// Package sock is the ground that the background roles of one user meet on: unix sockets that only their owner reaches,
// and locks that make one of each role.
//
// Listen binds a socket with mode 0600. It dials what it finds at the path before it removes it, so that a socket
// which a killed process left behind is healed and a living one is never taken away. Every accepted connection is
// checked against the peer's user id (SO_PEERCRED, unix(7)). When the socket or its directory is deleted, the listener
// binds it again by itself within Settle and some milliseconds; connections that were open stay open. When the
// directory above is gone as well, the data directory was deleted on purpose: Accept fails with ErrGone and the role
// ends.
//
// A Listener owns one goroutine, the watcher; Close waits for it.
package sock
