package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/keys"
)

// narrow sorts the list, or chooses what it shows. The pane follows the selection.
func (a *App) narrow(action keys.Action) tea.Cmd {
	a.list.SetNow(a.now())
	if a.zoomed { // the list must be seen
		a.zoomed = false
		a.arrange()
		a.resizePanes()
	}
	switch action {
	case keys.Sort:
		a.list.Sort()
	case keys.Which:
		a.list.Next()
	case keys.ShowAll:
		a.list.ShowAll()
	default:
		a.list.Edit(true)
	}
	return tea.Batch(a.show(), a.tick())
}

// filterKey takes a key while the list's filter is typed.
func (a *App) filterKey(k tea.KeyMsg) tea.Cmd {
	a.dirty = true
	a.list.SetNow(a.now())
	switch a.keys.Lookup(keys.Prompt, k.String()) {
	case keys.Accept:
		a.list.Edit(false)
	case keys.Cancel:
		a.list.ShowAll()
	case keys.Down:
		a.list.Move(1)
	case keys.Up:
		a.list.Move(-1)
	case keys.Erase:
		a.list.Erase()
	case keys.EraseAll:
		a.list.EraseAll()
	default:
		if k.Type == tea.KeyRunes && !k.Alt || k.Type == tea.KeySpace {
			a.list.Type(string(k.Runes))
		}
	}
	return tea.Batch(a.show(), a.tick())
}

// projects returns the projects that sessions are in, sorted.
func (a *App) projects() []string {
	var all []string
	for _, s := range a.sessions {
		if s.Project != "" {
			all = append(all, s.Project)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
