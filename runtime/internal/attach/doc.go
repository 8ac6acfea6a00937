// Package attach owns the viewers of a node: the streams of terminals over WebSockets, from their first frame to their
// close code. The frames are those of package sessions; on top of them the runtime sends rtapi's exited frame.
//
// # What a viewer gets
//
// Every viewer has a tmux client of its own in a PTY (client). What tmux draws there is taken apart (filter): markers
// become moments in the stream, questions are answered in the viewer's place, the rest is for the viewer (stream,
// queue). The order is attached, replay and its history, restore, live, then live output mixed with frames.
//
//   - The history and the picture of a restore belong to the same moment, however fast the program prints: the marker
//     before a full redraw says how long the history was when that redraw was made, and a capture of the history, made
//     later, is cut there (history). The picture is the redraw itself, up to the end of tmux's synchronized update, so
//     the next live byte follows it exactly. Both need options of tmux that this package sets itself (terminal.marked).
//   - A redraw "from nothing" is caused by starting a client or by setting the size of its PTY (the same size, with
//     another width of the cell in pixels), which makes tmux forget what it believed of its terminal. So a new picture
//     needs no new client, and input is never cut off by it.
//   - The history of a replay is text with SGR only, each line with CR LF, the rendition default before and after. For
//     a raw viewer it is followed by empty lines that push it above the screen.
//   - A resync frame asks for a new size, restore and live; with lines, for replay and history before them.
//
// # How a stream ends
//
//	1000  the program has ended (after exited), or the terminal was removed (without exited): the caller, who has the
//	      inventory, knows which
//	1001  Shutdown, the end of the caller's context, or a tmux server that cannot be reached
//	4404  no such terminal
//	4429  the viewer read nothing for 30 s while a message waited, which the server speaks for that stands between
//	      (rtapi.FrameDraining); the tmux client is gone at once, the code waits up to 5 minutes for a viewer that was
//	      suspended
//
// A tmux client that ends by itself is replaced. One whose viewer has gone is ended when tmux has read what that typed.
//
// # Pending input
//
// A restore says what was typed and is not on the screen (pendingInput): found in the journal, because that has one order
// of what was typed and printed, and because it is there when this process was not.
//
// # Bounds
//
// For each viewer at most 1 MiB of output waits; one byte more and all of it is dropped, the viewer is told that it is
// behind, and gets a new restore when its socket takes messages again. The PTY is drained all the while, since tmux
// 3.3 buffers without bound for a client that is not read. Besides, a viewer can hold one message being written, one
// of its input messages and one paste waiting, and one paste being received (16 MiB at most each).
//
// # Goroutines and locks
//
// A stream has five goroutines: its own (viewer.serve, the only writer of the WebSocket), the reader of the WebSocket,
// the keyboard (the only writer of the PTY), the resizer, and the drain of the PTY; Serve returns when all have ended
// and the tmux client is reaped. Hub.mu, terminal.geometry, terminal.counting, terminal.mu, viewer.mu, stream.mu and
// queue.mu are taken in this order. Only geometry is held over commands to tmux, and counting over the Counts callback;
// none is held over a write to a viewer.
package attach
