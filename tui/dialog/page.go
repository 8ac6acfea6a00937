package dialog

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// page is text that scrolls.
type page struct {
	keys *keys.Map
	top  int
	seen int // lines shown by the last View
	all  int // lines there were
}

func (p *page) HandleKey(k tea.KeyMsg) Action {
	switch p.keys.Lookup(keys.Page, k.String()) {
	case keys.Down:
		p.top++
	case keys.Up:
		p.top--
	case keys.PageDown:
		p.top += max(p.seen-1, 1)
	case keys.PageUp:
		p.top -= max(p.seen-1, 1)
	case keys.Cancel:
		return Closed{}
	default:
	}
	p.top = max(min(p.top, p.all-p.seen), 0)
	return nil
}

// block shows as many of lines as fit into h.
func (p *page) block(t *style.Theme, title string, lines []string, w, h int) string {
	const around = 6 // border, title, hints and their blank lines
	p.all, p.seen = len(lines), min(max(h-around, 1), len(lines))
	p.top = max(min(p.top, p.all-p.seen), 0)
	foot := hints(p.keys, keys.Page, keys.Cancel)
	if p.seen < p.all {
		foot = fmt.Sprintf("%s  (%d-%d of %d)", hints(p.keys, keys.Page, keys.Down, keys.Up, keys.Cancel), p.top+1, p.top+p.seen, p.all)
	}
	return frame(t, t.Dialog, clip(title, w), strings.Join(lines[p.top:p.top+p.seen], "\n"), clip(foot, w))
}

// Help shows every key.
type Help struct {
	page
	version  string
	contexts []keys.Context
}

// NewHelp returns the help for some contexts, in this order.
func NewHelp(m *keys.Map, version string, contexts []keys.Context) *Help {
	return &Help{page: page{keys: m}, version: version, contexts: contexts}
}

// View returns the help as a block.
func (d *Help) View(t *style.Theme, w, h int) string {
	width := inner(w, 76)
	const keyColumn = 17 // "backspace ctrl+h"
	var lines []string
	for _, c := range d.contexts {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t.Tone(style.Strong).Render(clip(c.Title(), width)))
		for _, b := range d.keys.Bindings(c) {
			text := strings.Split(ansi.Wrap(b.Long, max(width-keyColumn, 10), ""), "\n")
			for i, part := range text {
				names := ""
				if i == 0 {
					names = b.Names()
				}
				lines = append(lines, t.Tone(style.Accent).Render(fill(names, keyColumn-1))+" "+part)
			}
		}
	}
	title := "Keys"
	if d.version != "" {
		title += " of corral " + sessions.CleanLine(d.version, 40)
	}
	return d.block(t, title, lines, width, h)
}

func fill(s string, w int) string {
	s = clip(s, w)
	return s + strings.Repeat(" ", max(w-ansi.StringWidth(s), 0))
}
