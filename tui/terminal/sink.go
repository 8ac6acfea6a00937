package terminal

// MaxPaste is the largest paste that is passed on, as the viewer's stream has it (sessions.MaxPaste).
const MaxPaste = 16 << 20

// Sink takes what the user types while a pane has the keyboard. Its methods are called one at a time, in the order of the
// typing; they must not block and must not call the Terminal.
type Sink interface {
	// Input takes keys as the terminal sent them, and mouse and focus reports when the program asked for them (as SGR
	// 1006, shifted into the pane). p is valid during the call.
	Input(p []byte)
	// Paste takes one whole paste, without markers. p belongs to the sink.
	Paste(p []byte)
}
