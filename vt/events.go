package vt

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	EventBell      EventKind = iota + 1 // BEL
	EventTitle                          // the title changed: Text
	EventDirectory                      // OSC 7 told the working directory: Text
	EventLink                           // OSC 8 began a hyperlink: Text is its address
	EventModes                          // Modes changed
)

// Event is something a program did that matters outside its screen. Text is sanitised.
type Event struct {
	Kind  EventKind
	Text  string
	Modes Modes
}
