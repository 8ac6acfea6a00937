package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"corral/sessions"
	"corral/vt"
)

// redrawTries is how many markers are tried for an exact history; see terminal.history.
const redrawTries = 6

// restoration is everything a viewer needs to begin with, taken at one moment.
type restoration struct {
	window  window
	owner   bool
	history history
	marker  marker
	picture picture
	screen  *vt.Frame
}

// begin is the stream up to live: attached, replay, restore, live. ended says that the program had ended before.
func (v *viewer) begin(ctx, writing context.Context) (ended *exit, err error) {
	r, err := v.restore(ctx, v.replay)
	if err != nil {
		return nil, err
	}
	_, widths := v.hub.cfg.Widths(ctx)
	attached := sessions.Frame{
		Type: sessions.FrameAttached, SessionID: sessions.ID(v.terminal.id),
		Cols: r.window.cols, Rows: r.window.rows, Owner: r.owner, Widths: widths,
	}
	if err := v.sendJSON(writing, attached); err != nil {
		return nil, err
	}
	if err := v.sendHistory(writing, r); err != nil {
		return nil, err
	}
	return r.window.ended, v.sendPicture(writing, r)
}

// resync gives the viewer a new picture in the middle of its stream, and new history if it wants lines of it.
func (v *viewer) resync(ctx, writing context.Context, lines int, behind bool) error {
	if behind {
		frame := sessions.Frame{Type: sessions.FrameBehind, Reason: "output came faster than it was read"}
		if err := v.sendJSON(writing, frame); err != nil {
			return err
		}
	}
	r, err := v.restore(ctx, lines)
	if err != nil {
		return err
	}
	if err := v.sendJSON(writing, sizeFrame(r.window.cols, r.window.rows, r.owner)); err != nil {
		return err
	}
	if lines > 0 {
		if err := v.sendHistory(writing, r); err != nil {
			return err
		}
	}
	if r.window.ended != nil {
		v.exited(*r.window.ended)
	}
	return v.sendPicture(writing, r)
}

// reattach goes on after the tmux client has ended by itself: with a new one if the terminal is still there.
func (v *viewer) reattach(ctx, writing context.Context) error {
	select {
	case e := <-v.exits: // first the program ended, then the terminal was removed
		v.exited(e)
		return nil
	default:
	}
	v.log.Warn("attach client ended")
	return v.resync(ctx, writing, 0, false)
}

func sizeFrame(cols, rows int, owner bool) sessions.Frame {
	return sessions.Frame{Type: sessions.FrameSize, Cols: cols, Rows: rows, Owner: owner}
}

// sendHistory sends the replay frame and what it announces. A raw viewer gets it for its terminal as it is: followed by
// as many empty lines as push all of it out of the screen, which the picture is about to cover.
func (v *viewer) sendHistory(writing context.Context, r restoration) error {
	bytes := r.history.bytes
	if v.mode == sessions.ModeRaw && len(bytes) > 0 {
		bytes = append(bytes, strings.Repeat("\r\n", max(v.terminal.wantedRows(v), r.window.rows)-1)+"\x1b[H"...)
	}
	frame := sessions.Frame{
		Type: sessions.FrameReplay, Lines: r.history.lines, Bytes: len(bytes), Truncated: r.history.truncated,
		Total: r.marker.history,
	}
	if err := v.sendJSON(writing, frame); err != nil {
		return err
	}
	return v.sendBytes(writing, bytes)
}

// sendPicture sends the restore and live frames.
func (v *viewer) sendPicture(writing context.Context, r restoration) error {
	m := sessions.ScreenModes(r.picture.modes)
	m.AlternateScreen = r.marker.alternate
	frame := sessions.Frame{
		Type: sessions.FrameRestore, SessionID: sessions.ID(v.terminal.id),
		CursorRow: &r.screen.Cursor.Row, CursorColumn: &r.screen.Cursor.Col, Modes: &m,
	}
	frame.PendingInput, frame.Sequence = v.pendingInput(writing, r)
	if v.mode != sessions.ModeRaw {
		frame.ScreenText = string(r.picture.bytes)
	}
	if err := v.sendJSON(writing, frame); err != nil {
		return err
	}
	if v.mode == sessions.ModeRaw {
		if err := v.sendBytes(writing, r.picture.bytes); err != nil {
			return err
		}
	}
	return v.sendJSON(writing, sessions.Frame{Type: sessions.FrameLive})
}

func (v *viewer) sendBytes(writing context.Context, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), sessions.MaxDown)
		if err := v.send(writing, message{bytes: p[:n]}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// restore takes a picture of the terminal and up to lines of the history above it. Output that comes after the picture
// waits in the queue. Nothing is written to the viewer meanwhile, and the geometry lock is free again afterwards.
func (v *viewer) restore(ctx context.Context, lines int) (r restoration, err error) {
	t := v.terminal
	unlock, err := t.lockGeometry(ctx)
	if err != nil {
		return restoration{}, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, tmuxDeadline)
	defer cancel()
	if !v.isLive() {
		if _, err := t.probe(ctx); err != nil { // before it counts for a terminal that may not exist
			return restoration{}, err
		}
		t.appear(v)
	}
	if r.window, err = t.settle(ctx); err != nil {
		return restoration{}, err
	}
	for range redrawTries {
		var exact bool
		if exact, err = v.take(ctx, &r, lines); err != nil {
			return restoration{}, err
		}
		if exact {
			break
		}
		v.log.Debug("history moved under the replay")
		r.history = history{truncated: true}
	}
	r.owner = t.owns(v)
	v.mu.Lock()
	v.live = true
	v.mu.Unlock()
	return r, nil
}

// take has tmux redraw the viewer's client and collects the picture and the history above it.
func (v *viewer) take(ctx context.Context, r *restoration, lines int) (exact bool, err error) {
	await, c, err := v.ask(ctx, r.window)
	if err != nil {
		return false, err
	}
	if r.marker, err = wait(ctx, await.marked, c); err != nil {
		return false, v.explain(ctx, err)
	}
	shown := func() ([]string, error) {
		if r.screen != nil {
			return frameRows(r.screen), nil
		}
		if r.picture, err = wait(ctx, await.drawn, c); err != nil {
			return nil, v.explain(ctx, err)
		}
		widths, _ := v.hub.cfg.Widths(ctx)
		screen := vt.New(r.window.cols, r.window.rows, vt.WithWidths(widths), vt.OnFault(v.fault))
		_, _ = screen.Write(slices.Concat(r.picture.bytes, []byte(endSync))) // never fails
		r.screen = screen.Frame()
		return frameRows(r.screen), nil
	}
	r.screen = nil
	r.history, exact, err = v.terminal.history(ctx, r.marker, r.window.historyLimit, lines, shown)
	if err != nil {
		return false, err
	}
	_, err = shown()
	return exact, err
}

// fault takes note of a fault of the emulator: the picture is blank for whoever reads it as text.
func (v *viewer) fault(fault any, stack []byte) {
	v.log.Error("picture not read", "fault", fmt.Sprint(fault), "stack", string(stack))
}

// endSync ends a synchronized update, in case the picture was cut inside one.
const endSync = "\x1b[?2026l"

// errClientEnded says that the tmux client ended before it had drawn.
var errClientEnded = errors.New("the tmux client ended")

// wait receives from ch while the client lives.
func wait[T any](ctx context.Context, ch <-chan T, c *client) (T, error) {
	select {
	case x := <-ch:
		return x, nil
	case <-c.gone:
	case <-ctx.Done():
	}
	select {
	case x := <-ch: // both at once
		return x, nil
	default:
	}
	var zero T
	if ctx.Err() != nil {
		return zero, ctx.Err()
	}
	return zero, errClientEnded
}

// explain turns the end of a client into errGone if the terminal is gone.
func (v *viewer) explain(ctx context.Context, err error) error {
	if errors.Is(err, errClientEnded) {
		if _, probed := v.terminal.probe(ctx); probed != nil {
			return probed
		}
	}
	return fmt.Errorf("attach terminal %s: %w", v.terminal.id, err)
}

// ask causes a full redraw from nothing and drops all output before it: by starting a tmux client, or by setting the
// size of the PTY of the one there is.
func (v *viewer) ask(ctx context.Context, w window) (*redraw, *client, error) {
	v.stream.resized(w.cols, w.rows)
	v.queue.reset()
	v.mu.Lock()
	v.number++
	number, c := v.number, v.client
	v.mu.Unlock()
	nonce, err := v.terminal.marked(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	if c != nil && !c.hasEnded() {
		await := v.stream.expect(number, true)
		return await, c, c.resize(w.cols, w.rows, number)
	}
	v.stream.begin(nonce)
	await := v.stream.expect(number, true)
	// The client outlives ctx, which bounds this exchange; serve kills it.
	cmd := v.hub.cfg.Tmux.AttachCommand(context.WithoutCancel(ctx), v.terminal.session())
	c, err = startClient(cmd, w.cols, w.rows, number, v.stream.feed)
	if err != nil {
		return nil, nil, fmt.Errorf("attach terminal %s: %w", v.terminal.id, err)
	}
	v.mu.Lock()
	v.client = c
	v.mu.Unlock()
	v.keyboard.use(ctx, c)
	return await, c, nil
}

// kick asks for a redraw that becomes part of the live stream; nil when there is no client to ask.
func (v *viewer) kick() *redraw {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.client == nil {
		return nil
	}
	v.number++
	await := v.stream.expect(v.number, false)
	cols, rows := v.terminal.size()
	if err := v.client.resize(cols, rows, v.number); err != nil {
		return nil
	}
	return await
}

// sizeChanged tells the viewer the size of the window, in its place among the output.
func (v *viewer) sizeChanged(cols, rows int, owner bool) {
	if v.isLive() {
		v.queue.post(sizeFrame(cols, rows, owner))
	}
}

// resizePTY gives the viewer's PTY the size of the window.
func (v *viewer) resizePTY(cols, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.client == nil {
		return
	}
	v.stream.resized(cols, rows)
	if err := v.client.resize(cols, rows, v.number); err != nil {
		v.log.Debug("pty not resized", "err", err) // it has just ended
	}
}

// resizer follows the viewer's wishes of size.
func (v *viewer) resizer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.settles:
		}
		unlock, err := v.terminal.lockGeometry(ctx)
		if err != nil {
			return
		}
		_, err = v.terminal.settle(ctx)
		unlock()
		if err != nil && ctx.Err() == nil {
			v.log.Warn("window not resized", "err", err)
		}
	}
}

func (v *viewer) isLive() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.live
}

func (v *viewer) currentClient() *client {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.client
}

// killClient ends the tmux client and waits until nothing of it is left.
func (v *viewer) killClient() {
	if c := v.currentClient(); c != nil {
		c.kill()
		<-c.gone
	}
}

// frameRows is the text of a frame without trailing blanks.
func frameRows(f *vt.Frame) []string {
	rows := make([]string, f.Rows)
	for y := range rows {
		var b strings.Builder
		for _, cell := range f.Row(y) {
			b.WriteString(cell.Text)
		}
		rows[y] = strings.TrimRight(b.String(), " ")
	}
	return rows
}
