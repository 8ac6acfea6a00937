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
	Log       Context = "log"
	Recovery  Context = "recovery" // the page of lost sessions
	Choice    Context = "choice"   // of a conversation
	History   Context = "history"  // of a session
	Prompt    Context = "prompt"   // of a log or a history
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

// The actions of tasks and their logs.
const (
	Run       Action = "run"
	ShowLog   Action = "log"
	HalfDown  Action = "half-down"
	HalfUp    Action = "half-up"
	Left      Action = "left"
	Right     Action = "right"
	LineStart Action = "line-start"
	Wrap      Action = "wrap"
	Search    Action = "search"
	Filter    Action = "filter"
	More      Action = "more"
	Less      Action = "less"
	Goto      Action = "goto"
	Times     Action = "times"
	Save      Action = "save"
	Select    Action = "select"
	Copy      Action = "copy"
	Regexp    Action = "regexp"
	Erase     Action = "erase"
	EraseAll  Action = "erase-all"
)

// The actions of attention and recovery.
const (
	Attend  Action = "attend"
	Recover Action = "recover"
	Mark    Action = "mark"
	Latest  Action = "latest"
	Fresh   Action = "fresh"
)

// The actions of a session's history and of a window that is larger than its pane.
const (
	SelectLines Action = "select-lines"
	LineEnd     Action = "line-end"
	WordRight   Action = "word-right"
	WordLeft    Action = "word-left"
	OtherEnd    Action = "other-end"
	PanLeft     Action = "pan-left"
	PanRight    Action = "pan-right"
	PanUp       Action = "pan-up"
	PanDown     Action = "pan-down"
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
func Contexts() []Context {
	return []Context{Dashboard, Pane, History, Log, Prompt, Form, Question, Page, Recovery, Choice}
}

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
	case Recovery:
		return "At the lost sessions"
	case Choice:
		return "At the choice of a conversation"
	case Page:
		return "On a page of text"
	case Log:
		return "In the log of a task"
	case Prompt:
		return "While a log or a history asks for something"
	case History:
		return "In the history of a session"
	}
	return string(c)
}

func table(prefix string) []Binding {
	return []Binding{
		{Dashboard, Enter, []string{"enter"}, "type into it", "give the keyboard to the selected session, or to the log of the selected task"},
		{Dashboard, Create, []string{"n"}, "new", "make a new session"},
		{Dashboard, Run, []string{"t"}, "task", "run a task: a command that needs no viewer, and whose output is kept as its log"},
		{Dashboard, ShowLog, []string{"l", "["}, "look back", "look back: read the history of the selected session, or the log of the selected task"},
		{Dashboard, PageUp, []string{"pgup"}, "page up", "look back one page"},
		{Dashboard, Down, []string{"j", "down"}, "down", "select the next session or task; the pane follows at once"},
		{Dashboard, Up, []string{"k", "up"}, "up", "select the one before"},
		{Dashboard, Top, []string{"g", "home"}, "first", "select the first one"},
		{Dashboard, Bottom, []string{"G", "end"}, "last", "select the last one"},
		{Dashboard, Restart, []string{"R"}, "restart", "restart a session that has ended: same title and directory, fresh process; run the command of a task once more"},
		{Dashboard, Stop, []string{"x"}, "stop", "stop a live session, close a recoverable one, or cancel a task; asks first"},
		{Dashboard, Remove, []string{"X", "d"}, "remove", "remove an ended session with its history, or an ended task with its log; asks first"},
		{Dashboard, Rename, []string{"r"}, "rename", "give the session another title"},
		{Dashboard, Details, []string{"i"}, "details", "show the state of a session or task, why, since when, and what led to it"},
		{Dashboard, PanLeft, []string{"shift+left"}, "pan left", "show what is left of the part that is shown, when the session's window is larger than the pane"},
		{Dashboard, PanRight, []string{"shift+right"}, "pan right", "show what is right of it"},
		{Dashboard, PanUp, []string{"shift+up"}, "pan up", "show what is above it"},
		{Dashboard, PanDown, []string{"shift+down"}, "pan down", "show what is below it"},
		{Dashboard, Zoom, []string{"z"}, "zoom", "give the whole terminal to the session, which gets every key until the prefix key takes it back; without a live session, to the pane"},
		{Dashboard, Help, []string{"?"}, "help", "show every key"},
		{Dashboard, Redraw, []string{"ctrl+l"}, "redraw", "draw the whole screen again"},
		{Dashboard, Attend, []string{"w"}, "waits", "select the session that has waited for you longest, and say what for; once more: the next one"},
		{Dashboard, Recover, []string{"B"}, "recover", "show how the lost sessions would come back, and bring them back if you say so"},
		{Dashboard, StartUp, []string{"u"}, "start", "start the server again after `corral down`"},
		{Dashboard, Suspend, []string{"ctrl+z"}, "suspend", "suspend the dashboard; `fg` brings it back"},
		{Dashboard, Quit, []string{"q", "ctrl+c"}, "quit", "close the dashboard; the sessions keep running"},

		{Pane, Leave, []string{prefix}, "back", "give the keyboard back to the dashboard; press it twice to send it to the program"},

		{History, Leave, []string{"q", "esc", "ctrl+c", prefix}, "back", "give up the selection; without one, go back to the live screen"},
		{History, Accept, []string{"enter"}, "type", "copy the selection; without one, type into the session"},
		{History, Down, []string{"j", "down"}, "down", "scroll down; while selecting, move the cursor"},
		{History, Up, []string{"k", "up"}, "up", "scroll up; what the session prints does not move the view"},
		{History, PageDown, []string{" ", "pgdown"}, "page down", "scroll one page down"},
		{History, PageUp, []string{"b", "pgup"}, "page up", "scroll one page up"},
		{History, HalfDown, []string{"ctrl+d"}, "half down", "scroll half a page down"},
		{History, HalfUp, []string{"ctrl+u"}, "half up", "scroll half a page up"},
		{History, Top, []string{"g", "home"}, "top", "go to the oldest line"},
		{History, Bottom, []string{"G", "end"}, "end", "go to the end, with what was printed meanwhile"},
		{History, Search, []string{"/"}, "search", "search for a text or a regular expression; all matches are marked and counted"},
		{History, Next, []string{"n"}, "next", "go to the next match, upwards"},
		{History, Previous, []string{"N"}, "previous", "go to the match before, downwards"},
		{History, Select, []string{"v"}, "select", "show a cursor to move; pressed again, begin to select there"},
		{History, SelectLines, []string{"V"}, "select lines", "select whole lines"},
		{History, Left, []string{"h", "left"}, "left", "move the cursor to the left"},
		{History, Right, []string{"l", "right"}, "right", "move the cursor to the right"},
		{History, LineStart, []string{"0"}, "line start", "move the cursor to the begin of the line"},
		{History, LineEnd, []string{"$"}, "line end", "move the cursor to the end of the line"},
		{History, WordRight, []string{"w"}, "word right", "move the cursor to the next word"},
		{History, WordLeft, []string{"B"}, "word left", "move the cursor to the word before"},
		{History, OtherEnd, []string{"o"}, "other end", "move the other end of the selection"},
		{History, Copy, []string{"y"}, "copy", "copy the selection, else the line at hand; wrapped lines are joined"},
		{History, Zoom, []string{"z"}, "zoom", "give the history the whole terminal, or take it back"},
		{History, Help, []string{"?"}, "help", "show every key"},

		{Log, Leave, []string{"q", "esc", "ctrl+c", prefix}, "back", "give the keyboard back to the dashboard"},
		{Log, Down, []string{"j", "down"}, "down", "scroll down"},
		{Log, Up, []string{"k", "up"}, "up", "scroll up; the log is no longer followed"},
		{Log, PageDown, []string{" ", "pgdown"}, "page down", "scroll one page down"},
		{Log, PageUp, []string{"b", "pgup"}, "page up", "scroll one page up"},
		{Log, HalfDown, []string{"ctrl+d"}, "half down", "scroll half a page down"},
		{Log, HalfUp, []string{"ctrl+u"}, "half up", "scroll half a page up"},
		{Log, Top, []string{"g", "home"}, "begin", "go to the begin"},
		{Log, Bottom, []string{"G", "end", "F"}, "end", "go to the end and follow what comes"},
		{Log, Left, []string{"h", "left"}, "left", "shift long lines to the right"},
		{Log, Right, []string{"l", "right"}, "right", "show more of long lines"},
		{Log, LineStart, []string{"0"}, "line start", "show long lines from their begin"},
		{Log, Wrap, []string{"w"}, "wrap", "wrap long lines, or cut them"},
		{Log, Search, []string{"/"}, "search", "search for a text or a regular expression; all matches are marked and counted"},
		{Log, Next, []string{"n"}, "next", "go to the next match"},
		{Log, Previous, []string{"N"}, "previous", "go to the match before"},
		{Log, Filter, []string{"&"}, "filter", "show only the lines that match; an empty answer shows all"},
		{Log, More, []string{"+", "="}, "more", "show one line more round each match of the filter"},
		{Log, Less, []string{"-"}, "less", "show one line less"},
		{Log, Goto, []string{":"}, "go to", "go to a line's number, to a part as 50%, or to a time as 15:04"},
		{Log, Times, []string{"t"}, "times", "show when each line came"},
		{Log, Select, []string{"v"}, "select", "select lines, or give the selection up; the keys that scroll extend it"},
		{Log, Copy, []string{"y"}, "copy", "copy the selection, else the match or line at hand, to your clipboard (OSC 52)"},
		{Log, Save, []string{"s"}, "save", "save the log to a file"},
		{Log, Zoom, []string{"z"}, "zoom", "give the log the whole terminal, or take it back"},
		{Log, Help, []string{"?"}, "help", "show every key"},

		{Prompt, Accept, []string{"enter"}, "done", "take the answer"},
		{Prompt, Cancel, []string{"esc", "ctrl+c"}, "cancel", "never mind"},
		{Prompt, Regexp, []string{"ctrl+r"}, "regexp", "search for a regular expression (RE2), or for plain text again"},
		{Prompt, Erase, []string{"backspace", "ctrl+h"}, "erase", "erase a character"},
		{Prompt, EraseAll, []string{"ctrl+u"}, "erase all", "erase everything"},

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

		{Recovery, Yes, []string{"y"}, "bring back", "start the sessions of the plan, a few at a time"},
		{Recovery, Mark, []string{" "}, "leave out", "leave the session out of the plan, or take it in again"},
		{Recovery, Down, []string{"j", "down"}, "down", "look at the next session"},
		{Recovery, Up, []string{"k", "up"}, "up", "look at the one before"},
		{Recovery, Stop, []string{"x"}, "stop", "start nothing more; what was started runs on"},
		{Recovery, Cancel, []string{"esc", "q", "n", "ctrl+c"}, "close", "close the page; a recovery that has begun goes on"},

		{Choice, Latest, []string{"l"}, "latest", "go on with the newest conversation of its directory that no session runs"},
		{Choice, Fresh, []string{"f"}, "fresh", "begin a new conversation"},
		{Choice, Cancel, []string{"esc", "q", "n", "ctrl+c"}, "cancel", "restart nothing"},
	}
}
