// Package tui is the dashboard: a Bubble Tea program that shows all sessions and tasks and one of them live, and lets its
// user type into the session, or read the log of the task.
//
// # Shape
//
// App is the only tea.Model. The list, panes, dialogs and status line are structs with named methods, each in a package
// of its own; none is a model, does I/O, or knows the others. route.go decides who gets a key: the dialog on top, else the
// dashboard. While a pane has the keyboard the terminal's reader hands what is typed straight to the pane's stream, in
// order and past Bubble Tea; only the prefix key, and the mouse outside the pane, come here.
//
// # Message flow
//
//	Backend.Watch ----+
//	pane changed -----+--> pump (coalesces) --> Program.Send --> App.Update --> compose --> Terminal.Present
//	terminal events --+                                             |
//	                                                                +--> tea.Cmd with a deadline --> one message
//
// Update and View do no I/O and never wait: requests are commands that return one message; streams, the terminal's painter
// and the pump queue. Program.Send blocks, so it is only called from the pump and from the terminal's reader. A canvas is
// composed when something visible changed, and never otherwise: an idle dashboard has no ticks. The only clocks are a
// toast's end, the countdown of a link that reconnects while it is shown, that of a removal that can be taken back, the run
// times of running tasks (once a minute after their first), and a look at what they use while that is shown.
//
// # Goroutines
//
// Run owns all of them and returns when they have ended: the program's loop, the pump's two, the reader of the terminal's
// events, and the commands. Each stream and each log viewer has its own; they end in Close, which is always called from a
// command or from Run.
package tui
