package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
	"corral/tui/terminal"
	"corral/vt"
)

// Config is what the dashboard is handed. Backend and Terminal are needed; the rest has defaults.
type Config struct {
	Backend  Backend
	Terminal *terminal.Terminal // open; Run does not close it
	Log      *slog.Logger

	// Theme is "dark", "light" or "" (what the terminal answers; dark until it does).
	Theme string
	// Prefix is the key that gives the keyboard back, the same that the Terminal was opened with.
	Prefix terminal.Key
	// Keys are all keys; nil are the usual ones with Prefix.
	Keys *keys.Map
	// Version is shown in the help.
	Version string
	// CWD is the directory that a new session is offered when no session is selected.
	CWD string
	// Client names this viewer to others, as "dashboard on ssh 10.0.0.7".
	Client string
	// StartSelected is the session or task to select at first, when it exists.
	StartSelected sessions.ID
	// SaveFocus, when set, is called with the selected session or task when the dashboard closes.
	SaveFocus func(sessions.ID)
	// Agents are the agents that sessions can run: a command that begins with one of these names becomes its session.
	Agents []sessions.Kind
	// Notify says how the terminal calls the user when a session begins to wait.
	Notify terminal.Notice
	// Replay is how many lines of history are asked for when somebody looks back; 0 is a default.
	Replay int
	// Clip fills the clipboard of this machine; nil when it has none. What is copied goes to the terminal's anyway.
	Clip func(context.Context, []byte) error
	// Raw shows a session on the whole terminal, which is lent to it, until the user comes back; nil zooms the pane only.
	Raw func(context.Context, sessions.ID) error
	// Clipboard says what becomes of what a program puts into the clipboard; "" is ClipboardNotify.
	Clipboard Clipboard
	// Start starts the server again after `corral down` (the key u); nil offers no such key.
	Start func(context.Context) error
}

// Outcome says what the dashboard left behind.
type Outcome struct {
	Sessions []sessions.Session // as last seen
	Selected sessions.ID
}

// Run shows the dashboard until the user quits, the terminal hangs up, ctx ends (all three: nil) or something breaks. When
// it returns nothing of it runs any more; the terminal is still open and is the caller's to close, before anything is
// printed.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	if cfg.Backend == nil || cfg.Terminal == nil {
		return Outcome{}, errors.New("the dashboard needs a backend and a terminal")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	work, pump := newWork(ctx), newPump()
	cols, rows := cfg.Terminal.Size()
	app := newApp(cfg, cfg.Terminal, work, pump, colorsOf(cfg.Terminal.Profile()), cols, rows)
	model := &guarded{app: app}
	program := tea.NewProgram(model,
		tea.WithInput(cfg.Terminal.Input()),
		tea.WithOutput(io.Discard),
		tea.WithoutRenderer(),      // the terminal paints
		tea.WithoutSignalHandler(), // ctx says when to end
		tea.WithoutCatchPanics(),   // guarded does, and prints nothing
	)
	// The reader waits here until what it gave out was handled, so that what is typed after a key that hands over the
	// keyboard goes where the user meant it.
	cfg.Terminal.SetBarrier(func() { program.Send(nil) })

	var background sync.WaitGroup
	background.Go(func() { pump.run(ctx, program.Send) })
	background.Go(func() { forward(ctx, cfg.Terminal.Events(), program.Send) })
	background.Go(func() {
		// Not tea.WithContext: a program that is killed does not wait for its reader, whose file it closes (bubbletea 1.3.10,
		// Program.shutdown).
		<-ctx.Done()
		program.Quit()
	})
	background.Go(func() { pump.watch(ctx, cfg.Backend, program.Send) })

	_, err := program.Run()
	cancel()
	work.stop()
	background.Wait()
	app.close()

	out := Outcome{Sessions: app.list.Sessions()}
	if id := app.list.SelectedID(); id != "" {
		out.Selected = id
		if cfg.SaveFocus != nil {
			cfg.SaveFocus(id)
		}
	}
	switch {
	case model.err != nil:
		return out, model.err
	case err != nil:
		return out, fmt.Errorf("run the dashboard: %w", err)
	}
	return out, nil
}

func colorsOf(p vt.Profile) style.Colors {
	switch p {
	case vt.TrueColor, vt.ANSI256:
		return style.Full
	case vt.ANSI16:
		return style.Basic
	case vt.NoColor:
		return style.None
	}
	return style.Full
}

// close ends every stream, all at once, and waits for them.
func (a *App) close() {
	a.leave()
	var streams sync.WaitGroup
	if v := a.tasks.viewer; v != nil {
		streams.Go(v.Close)
	}
	for v := range a.tasks.stopped {
		streams.Go(v.Close)
	}
	for _, p := range a.panes.recent {
		streams.Go(p.Close)
	}
	streams.Wait()
}

// guarded keeps a panic of the model, or of a goroutine of the dashboard, from leaving the terminal in raw mode: the
// program ends in order, and Run returns the panic as an error.
type guarded struct {
	app *App
	err error
}

func (g *guarded) Init() tea.Cmd { return g.app.Init() }
func (g *guarded) View() string  { return g.app.View() }

func (g *guarded) Update(msg tea.Msg) (model tea.Model, cmd tea.Cmd) {
	if g.err != nil {
		return g, tea.Quit
	}
	defer func() {
		if v := recover(); v != nil {
			model, cmd = g, g.broke(v, debug.Stack())
		}
	}()
	if m, ok := msg.(panickedMsg); ok {
		return g, g.broke(m.value, m.stack)
	}
	_, cmd = g.app.Update(msg)
	return g, cmd
}

func (g *guarded) broke(value any, stack []byte) tea.Cmd {
	g.err = fmt.Errorf("the dashboard broke: %v", value)
	g.app.log.Error("dashboard panicked", "error", g.err, "stack", string(stack))
	return tea.Quit
}
