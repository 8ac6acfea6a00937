package tui

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/sessionlist"
	"corral/tui/status"
	"corral/tui/style"
	"corral/tui/terminal"
	"corral/tui/termpane"
	"corral/vt"
)

// display is the user's terminal as App uses it: nothing here waits for the terminal but StopProcess.
type display interface {
	Divert(s terminal.Sink, area canvas.Rect)
	Move(area canvas.Rect)
	Undivert()
	SetModes(m vt.Modes)
	Present(c *canvas.Canvas)
	Invalidate()
	Lend(f func() error) error
	StopProcess() error
	Copy(text []byte)
	Notify(n terminal.Notice)
}

// App is the root model. Everything in it belongs to the loop.
type App struct {
	backend Backend
	display display
	work    *work
	pump    *pump
	log     *slog.Logger
	now     func() time.Time
	start   func(context.Context) error // nil: cannot
	cwd     string
	client  string
	version string
	prefix  terminal.Key
	keys    *keys.Map

	theme      *style.Theme
	fixedTheme bool // the user chose; the terminal's answer does not count
	colors     style.Colors
	foreground string // the terminal's colours, "#rrggbb", for programs that ask
	background string

	sessions map[sessions.ID]sessions.Session
	listed   bool        // the first snapshot is here
	wanted   sessions.ID // selected when it comes
	watch    sessions.Link
	nodes    []sessions.NodeStatus
	database *sessions.DatabaseStatus

	daemonLogs []DaemonLog
	removals   []removal // oldest first
	leaving    bool      // the user asked to leave

	list    *sessionlist.Pane
	tasks   tasks
	history history
	drag    drag
	replay  int                                 // lines of history to begin with when looking back
	clip    func(context.Context, []byte) error // fills this machine's clipboard; nil when there is none
	grants  Clipboard
	raw     func(context.Context, sessions.ID) error // shows a session on the whole terminal; nil: cannot
	panes   panes
	shown   *termpane.Pane // the pane of the selected session, nil when there is none
	focused bool           // shown has the keyboard
	leftAt  time.Time      // when the prefix key was pressed last, if no key came since
	overlay dialog.Overlay

	agents     []sessions.Kind // kinds of session that are agents
	attention  attention
	recovering recovering

	toast  status.Toast
	losses losses

	cols, rows int
	zoomed     bool
	layout     layout
	openedAt   time.Time // when the last cold pane was opened

	canvas    *canvas.Canvas
	chrome    *canvas.Canvas // all that does not change when only the pane does
	dirty     bool           // anything may look different
	paneDirty bool           // only the pane's content does
	mark      string         // what the header in chrome says about the stream
	past      time.Time      // of when the picture is that the header speaks of; zero for the present

	modes            vt.Modes // as the display was told
	counting         bool     // a countdownMsg is on its way
	toastGeneration  int
	resizeGeneration int
}

var _ tea.Model = (*App)(nil)

// defaultReplay is how much history is asked for at first when nobody said otherwise.
const defaultReplay = 2000

// newApp returns the model for a terminal of the given size.
func newApp(cfg Config, d display, w *work, p *pump, colors style.Colors, cols, rows int) *App {
	dark := cfg.Theme != "light"
	a := &App{
		backend:    cfg.Backend,
		display:    d,
		work:       w,
		pump:       p,
		log:        cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		now:        time.Now,
		start:      cfg.Start,
		cwd:        cfg.CWD,
		client:     cfg.Client,
		version:    cfg.Version,
		prefix:     cfg.Prefix,
		theme:      style.New(dark, colors),
		fixedTheme: cfg.Theme == "dark" || cfg.Theme == "light",
		colors:     colors,
		sessions:   make(map[sessions.ID]sessions.Session),
		wanted:     cfg.StartSelected,
		tasks:      newTasks(),
		agents:     cfg.Agents,
		attention:  attention{unseen: make(map[sessions.ID]bool), notify: cfg.Notify},
		daemonLogs: cfg.DaemonLogs,
		replay:     cmp.Or(cfg.Replay, defaultReplay),
		clip:       cfg.Clip,
		raw:        cfg.Raw,
		grants:     cmp.Or(cfg.Clipboard, ClipboardNotify),
		watch:      sessions.Link{State: sessions.LinkConnecting},
		canvas:     canvas.New(cols, rows),
		chrome:     canvas.New(cols, rows),
	}
	if a.prefix == (terminal.Key{}) {
		a.prefix = terminal.DefaultPrefix
	}
	if a.keys = cfg.Keys; a.keys == nil {
		a.keys = keys.New(a.prefix.String())
	}
	a.list = sessionlist.New(a.theme)
	a.resize(cols, rows)
	return a
}

// Init asks for nothing: the pump brings the first facts.
func (a *App) Init() tea.Cmd { return nil }

// View is empty: Update presents canvases, and Bubble Tea runs without a renderer.
func (a *App) View() string { return "" }

// Update takes one message and draws if something visible changed.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := a.handle(msg)
	if a.dirty || a.paneDirty {
		a.compose()
		a.dirty, a.paneDirty = false, false
		a.display.Present(a.canvas)
	}
	return a, cmd
}

func (a *App) handle(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.KeyMsg:
		return a.typed(m)
	case tea.MouseMsg:
		return a.mouse(m)
	case terminalMsg:
		return a.terminalSays(m.event)
	case watchedMsg:
		return a.watched(m)
	case paneChangedMsg:
		return a.paneChanged(m.id)
	case toldMsg:
		return a.told(m)
	case unseenMsg:
		a.tasks.late[m.id] = true
	case unzoomedMsg:
		return a.unzoomed(m)
	case copiedMsg:
		return a.copy(m.text)
	case createdMsg:
		return a.created(m)
	case renamedMsg:
		return a.renamed(m)
	case doneMsg:
		return a.finished(m)
	case directoriesMsg:
		if m.err == nil {
			m.form.SetDirectories(m.prefix, m.found)
			a.dirty = true
		}
	case eventsMsg:
		m.page.SetEvents(m.events, m.err)
		a.dirty = true
	case removalDueMsg:
		return a.removalDue(m.id)
	case taskRunMsg:
		return a.taskRun(m)
	case taskDoneMsg:
		return a.taskFinished(m)
	case logClosedMsg:
		delete(a.tasks.stopped, m.viewer)
	case taskTickMsg:
		a.tasks.ticking = false
		a.dirty = true
		return a.tick()
	case usageMsg:
		return a.sampled(m)
	case sampleDueMsg:
		a.tasks.sampling = false
		return a.tick()
	case foundMsg:
		a.found(m)
	case measureMsg:
		return a.measure(m)
	case sizedMsg:
		a.sized(m)
	case toastExpiredMsg:
		if m.generation == a.toastGeneration {
			a.toast = status.Toast{}
			a.dirty = true
		}
	case countdownMsg:
		a.counting = false
		a.dirty = true
		return a.countdown()
	case resizeSettledMsg:
		if m.generation == a.resizeGeneration {
			a.resizePanes()
		}
	case lostSettledMsg:
		return a.lostSettled(m)
	case recoveryPlannedMsg:
		return a.recoveryPlanned(m)
	case recoveryResultMsg:
		return a.recoveryResult(m)
	case openPaneMsg:
		if a.shown != nil && a.shown.ID() == m.id {
			return a.open(a.shown)
		}
	}
	return nil
}

// terminalSays takes what the terminal and the kernel tell.
func (a *App) terminalSays(e terminal.Event) tea.Cmd {
	switch e := e.(type) {
	case terminal.Resized:
		return a.resize(e.Cols, e.Rows)
	case terminal.Background:
		a.background = e.Color
		if !a.fixedTheme && a.theme.Dark != e.Dark {
			a.theme = style.New(e.Dark, a.colors)
			a.list.SetTheme(a.theme)
			a.dirty = true
		}
	case terminal.Foreground:
		a.foreground = e.Color
	case terminal.Focus:
		if e.In {
			a.wake()
		}
	case terminal.Resumed:
		a.wake()
		a.display.Invalidate()
		a.dirty = true
	case terminal.PasteTooLarge:
		return a.say("that paste is larger than 16 MiB and was dropped", true)
	case terminal.Gone:
		return tea.Quit
	case terminal.SyncSupported: // the painter's business
	}
	return nil
}

// wake makes waiting reconnects start at once: the user is looking.
func (a *App) wake() {
	if a.watch.State == sessions.LinkReconnecting {
		a.pump.watchAgain()
	}
	for _, p := range a.panes.recent {
		p.Wake()
	}
}

// resizeSettle is how long the size must have been the same before it is told to the sessions: a window that is dragged
// would make each program draw itself anew at every step.
const resizeSettle = 50 * time.Millisecond

// resize fits everything into a terminal of the given size.
func (a *App) resize(cols, rows int) tea.Cmd {
	if cols == a.cols && rows == a.rows || cols <= 0 || rows <= 0 {
		return nil
	}
	a.cols, a.rows = cols, rows
	a.arrange()
	a.resizeGeneration++
	return a.work.after(resizeSettle, resizeSettledMsg{generation: a.resizeGeneration})
}

// arrange lays everything out anew.
func (a *App) arrange() {
	a.layout = layoutFor(a.cols, a.rows, a.zoomed)
	a.list.SetSize(a.layout.list.W, a.layout.list.H)
	if v := a.tasks.viewer; v != nil && !a.layout.tooSmall {
		v.Resize(a.layout.pane.W, a.layout.pane.H) // nobody but the reader has to follow
	}
	if a.focused {
		a.display.Move(a.layout.pane) // the mouse is shifted into the new area
	}
	a.dirty = true
}

// resizePanes tells the shown pane the size of its area; the others learn it when they are shown.
func (a *App) resizePanes() {
	if a.shown != nil && !a.layout.tooSmall {
		a.shown.Resize(a.layout.pane.W, a.layout.pane.H)
	}
}

// say shows a toast for a while.
func (a *App) say(text string, failure bool) tea.Cmd {
	const shownFor = 5 * time.Second
	a.toast = status.Toast{Text: text, Failure: failure}
	a.toastGeneration++
	a.dirty = true
	return a.work.after(shownFor, toastExpiredMsg{generation: a.toastGeneration})
}

// complain shows what went wrong with an operation.
func (a *App) complain(op operation, err error) tea.Cmd {
	a.log.Warn("operation did not succeed", "op", string(op), "error", err)
	return a.say(explain(op, err), true)
}

// explain puts an error into words: those that were written for people stand for themselves.
func explain(op operation, err error) string {
	var e *sessions.Error
	switch {
	case errors.As(err, &e):
		return sessions.CleanLine(e.Error(), 300)
	case errors.Is(err, context.DeadlineExceeded):
		return string(op) + ": no answer in time; try again"
	}
	return string(op) + ": " + sessions.CleanLine(err.Error(), 300)
}
