package tui

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/logview"
	"corral/tui/status"
	"corral/tui/style"
	"corral/tui/terminal"
)

// LogsConfig is what ShowLogs is handed. Terminal and Logs are needed.
type LogsConfig struct {
	Terminal *terminal.Terminal // open; ShowLogs does not close it
	Logs     []DaemonLog
	First    string // name of the log to show first
	Log      *slog.Logger
	Theme    string       // as Config has it
	Prefix   terminal.Key // likewise
}

// ShowLogs shows the logs of the daemons on the whole terminal, without the dashboard, until the user leaves, the
// terminal hangs up or ctx ends.
func ShowLogs(ctx context.Context, cfg LogsConfig) error {
	if cfg.Terminal == nil || len(cfg.Logs) == 0 {
		return errors.New("the log viewer needs a terminal and a log")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, pump := newWork(ctx), newPump()
	cols, rows := cfg.Terminal.Size()
	reader := newLogReader(cfg, cfg.Terminal, work, pump, colorsOf(cfg.Terminal.Profile()), cols, rows)
	err := runProgram(ctx, cfg.Terminal, reader, pump, reader.cfg.Log)
	cancel()
	work.stop()
	reader.close()
	return err
}

// logReader is the root model of ShowLogs: a line that says what is shown, and a log under it.
type logReader struct {
	cfg     LogsConfig
	display display
	work    *work
	pump    *pump
	keys    *keys.Map
	theme   *style.Theme
	colors  style.Colors
	canvas  *canvas.Canvas

	cols, rows int
	at         int // in cfg.Logs
	viewer     *logview.Pane
	stopped    map[*logview.Pane]bool
	overlay    dialog.Overlay
}

func newLogReader(cfg LogsConfig, d display, w *work, p *pump, colors style.Colors, cols, rows int) *logReader {
	if cfg.Prefix == (terminal.Key{}) {
		cfg.Prefix = terminal.DefaultPrefix
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &logReader{
		cfg: cfg, display: d, work: w, pump: p, keys: keys.New(cfg.Prefix.String()), colors: colors,
		theme: style.New(cfg.Theme != "light", colors), canvas: canvas.New(cols, rows), cols: cols, rows: rows,
		stopped: make(map[*logview.Pane]bool),
	}
	r.at = max(slices.IndexFunc(cfg.Logs, func(l DaemonLog) bool { return l.Name == cfg.First }), 0)
	r.open()
	return r
}

// Init asks for nothing: the viewer says when it has something to show.
func (r *logReader) Init() tea.Cmd { return nil }

// View is empty: Update presents canvases.
func (r *logReader) View() string { return "" }

// Update takes one message and draws.
func (r *logReader) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd, changed := r.handle(msg)
	if changed {
		r.draw()
	}
	return r, cmd
}

func (r *logReader) handle(msg tea.Msg) (cmd tea.Cmd, changed bool) {
	switch m := msg.(type) {
	case tea.KeyMsg:
		return r.typed(m), true
	case tea.MouseMsg:
		switch m.Button {
		case tea.MouseButtonWheelDown:
			r.viewer.Scroll(wheelRows)
		case tea.MouseButtonWheelUp:
			r.viewer.Scroll(-wheelRows)
		default:
		}
	case paneChangedMsg:
		return nil, true
	case logClosedMsg:
		delete(r.stopped, m.viewer)
	case terminalMsg:
		return r.terminalSays(m.event)
	}
	return nil, false
}

func (r *logReader) terminalSays(e terminal.Event) (cmd tea.Cmd, changed bool) {
	switch e := e.(type) {
	case terminal.Resized:
		r.cols, r.rows = e.Cols, e.Rows
		r.viewer.Resize(r.cols, r.rows-1)
		return nil, true
	case terminal.Background:
		if r.cfg.Theme != "dark" && r.cfg.Theme != "light" {
			r.theme = style.New(e.Dark, r.colors)
		}
		return nil, true
	case terminal.Resumed:
		r.display.Invalidate()
		return nil, true
	case terminal.Gone:
		return tea.Quit, false
	}
	return nil, false
}

func (r *logReader) typed(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyRunes && len(k.Runes) > 1 && !k.Paste {
		var cmds []tea.Cmd
		for _, c := range k.Runes {
			cmds = append(cmds, r.typed(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}, Alt: k.Alt}))
		}
		return tea.Batch(cmds...)
	}
	if top := r.overlay.Top(); top != nil {
		if _, closed := top.HandleKey(k).(dialog.Closed); closed {
			r.overlay.Close()
		}
		return nil
	}
	if !r.viewer.Asking() {
		switch r.keys.Lookup(keys.Log, k.String()) {
		case keys.Daemons:
			r.at = (r.at + 1) % len(r.cfg.Logs)
			return r.open()
		case keys.Help:
			r.overlay.Open(dialog.NewHelp(r.keys, "", []keys.Context{keys.Log, keys.Prompt, keys.Page}))
			return nil
		default:
		}
		switch r.keys.Lookup(keys.Dashboard, k.String()) {
		case keys.Redraw:
			r.display.Invalidate()
			return nil
		case keys.Suspend:
			return r.work.do(0, func(context.Context) tea.Msg {
				if err := r.display.StopProcess(); err != nil {
					r.cfg.Log.Warn("operation did not succeed", "op", "suspend", "error", err)
				}
				return nil
			})
		default:
		}
	}
	if r.viewer.HandleKey(k) {
		return tea.Quit
	}
	return nil
}

// open shows the log whose turn it is.
func (r *logReader) open() tea.Cmd {
	var closing tea.Cmd
	if old := r.viewer; old != nil {
		old.Stop()
		r.stopped[old] = true
		closing = r.work.do(0, func(context.Context) tea.Msg {
			old.Close()
			return logClosedMsg{viewer: old}
		})
	}
	log := r.cfg.Logs[r.at]
	r.viewer = logview.New(logview.Config{
		ID: daemonID(log.Name), Source: log.Open(), Keys: r.keys, Copy: r.display.Copy,
		Changed: func(id sessions.ID) { r.pump.paneChanged(id) },
	}, r.cols, r.rows-1)
	r.viewer.SetVisible(true)
	r.viewer.Open()
	return closing
}

func (r *logReader) close() {
	r.viewer.Close()
	for v := range r.stopped {
		v.Close()
	}
}

func (r *logReader) draw() {
	c := r.canvas
	c.Resize(r.cols, r.rows)
	title := " log of the " + r.cfg.Logs[r.at].Name + " "
	hints := status.Bar{Hints: hintsOf(r.keys, keys.Log, logHints...)}
	room := max(r.cols-ansi.StringWidth(title), 0)
	c.DrawLine(0, 0, r.cols, r.theme.Tone(style.Strong).Render(title)+strings.TrimRight(hints.View(r.theme, room), " "))
	r.viewer.Draw(c, canvas.Rect{Y: 1, W: r.cols, H: r.rows - 1}, r.theme, logview.DrawOptions{Focused: r.overlay.Top() == nil})
	if top := r.overlay.Top(); top != nil {
		block := top.View(r.theme, r.cols, r.rows)
		c.HideCursor()
		c.DrawBlock(center(canvas.Rect{W: r.cols, H: r.rows}, lipgloss.Width(block), lipgloss.Height(block)), block)
	}
	r.display.Present(c)
}
