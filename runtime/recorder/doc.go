// Package recorder takes over the panes' output pipes and reads them, so that output goes on being taken while the
// runtime is down. It never blocks tmux: a pipe that nobody reads makes tmux buffer without bound and hold back the
// news that a program has ended.
//
// tmux runs `corral handoff <socket> <terminal>` as the pane's pipe command. Handoff passes its standard input, one end
// of a socket pair, over the recorder's unix socket, waits for one byte and ends; tmux does not mind. What is read is
// drained for now: the journal comes in its place.
//
// The socket's protocol is one request a connection, a line of text: "handoff <terminal>" with the descriptor, answered
// by a byte; or "watch", answered by a line of JSON that says who the recorder is and which terminals' pipes it holds,
// after which the connection stays open: its end is the recorder's.
//
// Goroutines of Run: one per connection, ended with it, and one per pipe, which sleeps in the runtime's poller and
// borrows a buffer only to read. Run waits for all of them.
package recorder
