// Package terminal owns the user's terminal: its line discipline, its modes, what is written to it and what is read from
// it. Nobody else in the dashboard touches it; Bubble Tea runs with tea.WithoutRenderer and reads from Input.
//
// It promises to give the terminal back as it was found on every way out: Close resets every mode that the dashboard or a
// program in a pane may have set, Suspend does so for a while, and after a kill -9 the next Open does, which it knows by a
// file that exists while the terminal is held.
//
// # Output
//
// Present puts a canvas into a mailbox of one. One goroutine, the painter, takes it out, works out the bytes that changed
// and writes them: at once, but 4 ms after the last frame at the earliest. A terminal that takes no bytes (ctrl+s, a dead
// connection) blocks the painter and nobody else; when it takes some again, it gets the newest canvas. When nothing
// changes, nothing runs and nothing is written.
//
// # Input
//
// One goroutine, the reader, cuts what the terminal sends into pieces (keys, mouse reports, pastes, answers) and routes
// each: to the dashboard, or to the pane that has the keyboard (Divert). Keys go to the pane untouched and at once, from
// the reader's goroutine; answers of the terminal go to neither.
//
// A switch of the keyboard neither loses nor misroutes what was typed around it, in both directions:
//
//   - Back to the dashboard. The reader sees the prefix key itself and switches right there; what stands behind it, in the
//     same chunk too, is the dashboard's. The prefix is queued for the dashboard in its place among the keys, so that
//     Update learns of the switch before it handles the next key. A dashboard that gets the prefix when it has the keyboard
//     already, as the very next key within a second of the first, sends it to the program and diverts again: that is
//     "pressed twice". One that gets it at any other time ignores it.
//   - To a pane. Update diverts while it handles a key, later than the reader read that key and perhaps more behind it. So
//     the pieces for the dashboard wait in a queue, one is given out per Read, and before a Read gives out a piece it waits
//     (SetBarrier) until Update is done with all that was given out before. Divert sends what still waits to the pane. So
//     exactly what was typed behind the key that diverted goes to the pane, whatever the timing, without holding a key back
//     for a time.
//
// What is incomplete at the end of a read waits for its rest: 30 ms if it may be a key by itself (escape), a second if it
// cannot (a mouse report or an answer cut in two by a slow line, which must never be typed into a program).
//
// # Signals
//
// SIGWINCH and SIGCONT are handled here and become events. Bubble Tea v1.3 sends no tea.WindowSizeMsg without its
// renderer (it asks for the size only of an output that the renderer set up), so the dashboard makes it from Resized.
// SIGTERM, SIGHUP and SIGINT end the caller's context, and Close follows from that.
//
// # Goroutines and locks
//
// Painter, reader and signal handler run from Open to Close, the first two not while suspended; Close waits for them. Lock
// order: Terminal.mu before painter.mu and router.mu; router.mu before Input.mu. A Sink is called under router.mu.
package terminal
