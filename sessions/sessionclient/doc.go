// Package sessionclient is the Go client of the sessions API: requests, the watch of the session list, and the viewer's
// stream. Watch and stream mend themselves: they connect again with growing pauses, and at once when woken. Nothing
// here creates, starts or restarts a session that nobody asked for, and what is typed while a stream is down is
// dropped and counted, never sent later.
//
// A Stream runs one goroutine that connects, reads and calls its handler, and while connected one that writes; Close
// waits for both. Watch runs in its caller's goroutine. Locks guard queues only and are never held during I/O or a call
// of the handler.
package sessionclient
