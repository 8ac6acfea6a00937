// Package recorder takes over the panes' output pipes and keeps what they bring in the sessions' journals. It goes on
// while the runtime is down, and it never blocks tmux: a pipe that nobody reads makes tmux buffer without bound and hold
// back the news that a program has ended.
//
// It is two processes for all sessions of a data directory.
//
//   - The fd store (Run) listens on the recorder's socket, holds a duplicate of every descriptor and knows nothing of
//     what they carry. When the worker dies it starts another one and gives it all of them again.
//   - The worker (RunWorker) reads them and is the only one who writes journals. It looks at what a pipe holds, appends
//     it to the journal and only then takes it out of the pipe, so its death loses nothing. That it was appending is
//     noted before, in memory that the fd store holds (slots); the next worker drops what was appended and not taken out.
//
// tmux runs `corral handoff <socket> <terminal>` as the pane's pipe command. Handoff passes its standard input, one end
// of a socket pair, over the recorder's socket, waits for one byte and ends; tmux does not mind.
//
// # The socket
//
// One request a connection, a line of text: "handoff <terminal>" with the descriptor of a pipe, or "client" with one of
// a pair of seqpacket sockets, both answered by a byte; or "watch", answered by a line of JSON that says who the
// recorder is and which terminals' pipes it holds, after which the connection stays open: its end is the recorder's.
//
// # The runtime's records
//
// What the runtime knows (input, sizes, starts and ends, snapshots) it writes to its client socket, a message each
// (Client). It writes an input before it types it. The worker, after it has looked at a pipe and before it appends what
// it saw, appends all that waits in the clients' sockets: so an input is always before its echo. Since the fd store
// holds the clients' sockets too, what is written while a worker is restarted is not lost.
//
// # The disk
//
// Appending is the work of one goroutine. When it has not answered for a second the worker stops waiting: what comes is
// queued up to a limit, and beyond that dropped and counted. What was dropped, also because the disk is full, is written
// as a gap as soon as writing works again.
//
// # Goroutines and locks
//
// The fd store has one goroutine per connection and one that keeps the worker. The worker has one per pipe and client,
// which sleep in Go's poller, and those of disk: the appender, the compressor and the keeper of the limits. worker.mu is
// what makes one order of all that comes; it is held over appending. Run and RunWorker wait for all of them.
package recorder
