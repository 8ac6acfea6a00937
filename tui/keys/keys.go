// Package keys holds every key of the dashboard in one table: what it does, what the help says about it, and why it may
// be unavailable at the moment. The status line, the help screen and docs/keys.md are made from the same table, and a
// test finds two actions on one key. The package knows nothing of sessions; Situation carries the facts it needs.
package keys

// Context says who has the keyboard. A key may mean different things in different contexts, never in one.
type Context string

// The contexts.
const (
	Dashboard Context = "dashboard"
	Pane      Context = "session"
	Form      Context = "form"
	Question  Context = "question"
	Page      Context = "page" // help and details
)

// Action is what a key does.
type Action string

// The actions of the dashboard.
const (
	None     Action = ""
	Enter    Action = "enter"
	Create   Action = "new"
	Down     Action = "down"
	Up       Action = "up"
	Top      Action = "top"
	Bottom   Action = "bottom"
	Restart  Action = "restart"
	Stop     Action = "stop"
	Remove   Action = "remove"
	Rename   Action = "rename"
	Details  Action = "details"
	Zoom     Action = "zoom"
	Help     Action = "help"
	Redraw   Action = "redraw"
	StartUp  Action = "start"
	Suspend  Action = "suspend"
	Quit     Action = "quit"
	Leave    Action = "leave" // gives the keyboard back
	Next     Action = "next"
	Previous Action = "previous"
	Accept   Action = "accept"
	Cancel   Action = "cancel"
	Complete Action = "complete"
	Yes      Action = "yes"
	PageDown Action = "page-down"
	PageUp   Action = "page-up"
)

// Binding ties keys to an action in a context. Keys are in Bubble Tea's spelling.
type Binding struct {
	Context Context
	Action  Action
	Keys    []string
	Short   string // for the status line
	Long    string // for help and documentation: one sentence part
}

// Map is the table of all bindings.
type Map struct {
	bindings []Binding
	index    map[Context]map[string]Action
}

// DefaultPrefix is the key that gives the keyboard back when the user has not chosen another.
const DefaultPrefix = `ctrl+\`

// New returns the table with the given prefix key, DefaultPrefix when empty.
func New(prefix string) *Map {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	m := &Map{bindings: table(prefix), index: make(map[Context]map[string]Action)}
	for _, b := range m.bindings {
		if m.index[b.Context] == nil {
			m.index[b.Context] = make(map[string]Action)
		}
		for _, k := range b.Keys {
			m.index[b.Context][k] = b.Action
		}
	}
	return m
}

// Lookup returns what key does in context c, None when nothing.
func (m *Map) Lookup(c Context, key string) Action { return m.index[c][key] }

// Bindings returns the bindings of context c in the order of the help.
func (m *Map) Bindings(c Context) []Binding {
	var out []Binding
	for _, b := range m.bindings {
		if b.Context == c {
			out = append(out, b)
		}
	}
	return out
}

// Binding returns the binding of an action in context c.
func (m *Map) Binding(c Context, a Action) (Binding, bool) {
	for _, b := range m.bindings {
		if b.Context == c && b.Action == a {
			return b, true
		}
	}
	return Binding{}, false
}

// Contexts lists the contexts in the order of the help.
func Contexts() []Context { return []Context{Dashboard, Pane, Form, Question, Page} }

// Title is the heading of a context in help and documentation.
func (c Context) Title() string {
	switch c {
	case Dashboard:
		return "In the dashboard"
	case Pane:
		return "While a session has the keyboard"
	case Form:
		return "In a form"
	case Question:
		return "At a question"
	case Page:
		return "On a page of text"
	}
	return string(c)
}

func table(prefix string) []Binding {
	return []Binding{
		{Dashboard, Enter, []string{"enter"}, "type into it", "give the keyboard to the selected session"},
		{Dashboard, Create, []string{"n"}, "new", "make a new session"},
		{Dashboard, Down, []string{"j", "down"}, "down", "select the next session; the pane follows at once"},
		{Dashboard, Up, []string{"k", "up"}, "up", "select the session before"},
		{Dashboard, Top, []string{"g", "home"}, "first", "select the first session"},
		{Dashboard, Bottom, []string{"G", "end"}, "last", "select the last session"},
		{Dashboard, Restart, []string{"R"}, "restart", "restart a session that has ended: same title and directory, fresh process"},
		{Dashboard, Stop, []string{"x"}, "stop", "stop a live session, or close a recoverable one; asks first"},
		{Dashboard, Remove, []string{"X", "d"}, "remove", "remove an ended session with its history; asks first"},
		{Dashboard, Rename, []string{"r"}, "rename", "give the session another title"},
		{Dashboard, Details, []string{"i"}, "details", "show the session's state, why, since when, and what led to it"},
		{Dashboard, Zoom, []string{"z"}, "zoom", "give the pane the whole terminal, or take it back"},
		{Dashboard, Help, []string{"?"}, "help", "show every key"},
		{Dashboard, Redraw, []string{"ctrl+l"}, "redraw", "draw the whole screen again"},
		{Dashboard, StartUp, []string{"u"}, "start", "start the server again after `corral down`"},
		{Dashboard, Suspend, []string{"ctrl+z"}, "suspend", "suspend the dashboard; `fg` brings it back"},
		{Dashboard, Quit, []string{"q", "ctrl+c"}, "quit", "close the dashboard; the sessions keep running"},

		{Pane, Leave, []string{prefix}, "back", "give the keyboard back to the dashboard; press it twice to send it to the program"},

		{Form, Next, []string{"down"}, "next", "go to the next field"},
		{Form, Previous, []string{"shift+tab", "up"}, "previous", "go to the field before"},
		{Form, Complete, []string{"tab"}, "complete", "complete a directory as far as it is certain, else go to the next field"},
		{Form, Accept, []string{"enter"}, "done", "do it"},
		{Form, Cancel, []string{"esc", "ctrl+c"}, "cancel", "close the form and change nothing"},

		{Question, Yes, []string{"y", "enter"}, "yes", "do it"},
		{Question, Cancel, []string{"n", "esc", "q", "ctrl+c"}, "no", "change nothing"},

		{Page, Down, []string{"j", "down"}, "down", "scroll down"},
		{Page, Up, []string{"k", "up"}, "up", "scroll up"},
		{Page, PageDown, []string{"pgdown", " "}, "page down", "scroll one page down"},
		{Page, PageUp, []string{"pgup"}, "page up", "scroll one page up"},
		{Page, Cancel, []string{"esc", "q", "?", "i", "enter", "ctrl+c"}, "close", "close the page"},
	}
}
