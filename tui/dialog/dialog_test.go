package dialog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/style"
)

var special = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp,
	"down": tea.KeyDown, "backspace": tea.KeyBackspace, "ctrl+u": tea.KeyCtrlU, "ctrl+v": tea.KeyCtrlV, "pgdown": tea.KeyPgDown,
}

// press hands keys to d and returns the last action.
func press(d dialog.Dialog, names ...string) dialog.Action {
	var last dialog.Action
	for _, n := range names {
		if t, ok := special[n]; ok {
			last = d.HandleKey(tea.KeyMsg{Type: t})
			continue
		}
		for _, r := range n {
			last = d.HandleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
	return last
}

func view(d dialog.Dialog) string { return ansi.Strip(d.View(style.New(true, style.Full), 80, 24)) }

func form(cwd string) *dialog.NewSession {
	return dialog.NewNewSession(keys.New(""), dialog.Defaults{CWD: cwd, Project: "web", Cols: 90, Rows: 30})
}

func TestNewSessionAsksForWhatWasTyped(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keys []string
		want sessions.CreateRequest
	}{
		"nothing but enter": {
			[]string{"enter"},
			sessions.CreateRequest{Title: "me", CWD: "/home/me", Kind: sessions.KindShell, Project: "web"},
		},
		"a title": {
			[]string{"my  work", "enter"},
			sessions.CreateRequest{Title: "my work", CWD: "/home/me", Kind: sessions.KindShell, Project: "web"},
		},
		"another directory": {
			[]string{"down", "ctrl+u", "/srv//x/../y/", "enter"},
			sessions.CreateRequest{Title: "y", CWD: "/srv/y", Kind: sessions.KindShell, Project: "web"},
		},
		"a command of plain words": {
			[]string{"down", "down", "make  -j8 test", "enter"},
			sessions.CreateRequest{Title: "me", CWD: "/home/me", Kind: sessions.KindCommand, Args: []string{"make", "-j8", "test"}, Project: "web"},
		},
		"a command for a shell": {
			[]string{"up", "up", "tail -f log | grep x", "enter"},
			sessions.CreateRequest{Title: "me", CWD: "/home/me", Kind: sessions.KindCommand, Args: []string{"sh", "-c", "tail -f log | grep x"}, Project: "web"},
		},
		"no project": {
			[]string{"up", "ctrl+u", "enter"},
			sessions.CreateRequest{Title: "me", CWD: "/home/me", Kind: sessions.KindShell},
		},
		"the root": {
			[]string{"down", "ctrl+u", "/", "enter"},
			sessions.CreateRequest{Title: "/", CWD: "/", Kind: sessions.KindShell, Project: "web"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.Cols, tt.want.Rows = 90, 30
			got, ok := press(form("/home/me"), tt.keys...).(dialog.CreateWanted)
			if !ok {
				t.Fatal("nothing was asked for")
			}
			if diff := cmp.Diff(tt.want, got.Request); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewSessionWantsAnAbsoluteDirectory(t *testing.T) {
	t.Parallel()
	f := form("relative/path")
	if a := press(f, "enter"); a != nil {
		t.Fatalf("asked for %+v", a)
	}
	if !strings.Contains(view(f), "must be an absolute path") {
		t.Errorf("it does not say why:\n%s", view(f))
	}
}

func TestFormIsClosedToTypingWhileItWorks(t *testing.T) {
	t.Parallel()
	f := form("/home/me")
	press(f, "enter")
	if !strings.Contains(view(f), "creating...") {
		t.Errorf("it does not say what it does:\n%s", view(f))
	}
	if a := press(f, "x", "enter"); a != nil {
		t.Errorf("asked twice: %+v", a)
	}
	f.Failed("no such directory")
	if !strings.Contains(view(f), "no such directory") {
		t.Errorf("it does not say what went wrong:\n%s", view(f))
	}
	if _, again := press(f, "enter").(dialog.CreateWanted); !again {
		t.Error("it cannot be tried again")
	}
}

func TestCompletionGoesAsFarAsIsCertain(t *testing.T) {
	t.Parallel()
	f := form("/home/me/p")
	want := dialog.DirectoriesWanted{Prefix: "/home/me/p"}
	if got := press(f, "down"); got != want {
		t.Fatalf("asked for %v, want %v", got, want)
	}
	f.SetDirectories("/home/me/p", []string{"/home/me/projects", "/home/me/profile"})
	if got := press(f, "tab"); got != (dialog.DirectoriesWanted{Prefix: "/home/me/pro"}) {
		t.Fatalf("after tab: %v", got)
	}
	f.SetDirectories("/home/me/p", []string{"/home/me/wrong"}) // an answer that comes late
	f.SetDirectories("/home/me/pro", []string{"/home/me/projects", "/home/me/profile"})
	press(f, "j")
	f.SetDirectories("/home/me/proj", []string{"/home/me/projects"})
	press(f, "tab")
	if !strings.Contains(view(f), "/home/me/projects/") {
		t.Errorf("the only candidate was not taken:\n%s", view(f))
	}
	f.SetDirectories("/home/me/projects/", nil)
	press(f, "tab", "make")
	if !strings.Contains(view(f), "command    make") {
		t.Errorf("tab with nothing to complete does not go on:\n%s", view(f))
	}
}

func TestCompletionOfCharactersOfManyBytes(t *testing.T) {
	t.Parallel()
	f := form("/")
	press(f, "down")
	f.SetDirectories("/", []string{"/äö", "/äő"}) // they share the first byte of their last character
	press(f, "tab", "x")
	if !strings.Contains(view(f), "/äx") {
		t.Errorf("completion cut a character:\n%s", view(f))
	}
}

func TestClipboardProgramsAreNotRun(t *testing.T) {
	t.Parallel()
	before := view(form("/home/me"))
	f := form("/home/me")
	press(f, "ctrl+v")
	if view(f) != before {
		t.Error("ctrl+v did something")
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	s := sessions.Session{ID: "id", Title: "work"}
	for _, op := range []dialog.Op{dialog.OpStop, dialog.OpClose} {
		for _, k := range []string{"y", "enter"} {
			if got := press(dialog.NewQuestion(keys.New(""), op, s), k); got != (dialog.Confirmed{Op: op, ID: "id"}) {
				t.Errorf("%s %s: %v", op, k, got)
			}
		}
		for _, k := range []string{"n", "esc", "q"} {
			if got := press(dialog.NewQuestion(keys.New(""), op, s), k); got != (dialog.Closed{}) {
				t.Errorf("%s %s: %v", op, k, got)
			}
		}
		if got := press(dialog.NewQuestion(keys.New(""), op, s), "x"); got != nil {
			t.Errorf("%s x: %v", op, got)
		}
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	older, none, website := "older", "", "website"
	for name, tt := range map[string]struct {
		keys []string
		want dialog.Action
	}{
		"title":           {[]string{"er", "enter"}, dialog.RenameWanted{ID: "id", Title: &older}},
		"project":         {[]string{"down", "ctrl+u", "web", "tab", "enter"}, dialog.RenameWanted{ID: "id", Project: &website}},
		"project removed": {[]string{"tab", "ctrl+u", "enter"}, dialog.RenameWanted{ID: "id", Project: &none}},
		"nothing":         {[]string{"enter"}, dialog.Closed{}},
	} {
		f := dialog.NewRename(keys.New(""), sessions.Session{ID: "id", Title: "old", Project: "corral"}, []string{"corral", "website"})
		if diff := cmp.Diff(tt.want, press(f, tt.keys...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f := dialog.NewRename(keys.New(""), sessions.Session{ID: "id", Title: "old"}, nil)
	if got := press(f, "ctrl+u", "enter"); got != nil || !strings.Contains(view(f), "cannot be empty") {
		t.Errorf("an empty title: %v\n%s", got, view(f))
	}
}

func TestHelpShowsEveryKeyAndScrolls(t *testing.T) {
	t.Parallel()
	m := keys.New("")
	h := dialog.NewHelp(m, "1.0", keys.Contexts())
	all := ""
	for range 40 {
		all += view(h)
		press(h, "pgdown")
	}
	for _, c := range keys.Contexts() {
		for _, b := range m.Bindings(c) {
			if !strings.Contains(all, b.Names()) {
				t.Errorf("%s is not in the help", b.Names())
			}
		}
	}
	if got := press(h, "q"); got != (dialog.Closed{}) {
		t.Errorf("q: %v", got)
	}
}

func TestDetailsTellTheEvidence(t *testing.T) {
	t.Parallel()
	s := sessions.Session{ID: "id", Title: "work", State: sessions.Recoverable, StateReason: "it\x1b[2J is gone"}
	d := dialog.NewDetails(keys.New(""), s)
	if !strings.Contains(view(d), "asking...") {
		t.Error("it does not say that it asks")
	}
	d.SetEvents([]sessions.Event{{
		At: time.Unix(0, 0), To: sessions.Recoverable, From: sessions.Running, Actor: sessions.ActorReconciler,
		Reason: "lost", Evidence: "tmux server\n4711\x07 does not know it",
	}}, nil)
	text := view(d)
	for _, want := range []string{"↺ RECOVERABLE", "gone", "reconciler", "tmux server 4711 does not know it", "since"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("control characters are shown: %q", text)
	}
	d.SetEvents(nil, errors.New("no server answers"))
	if !strings.Contains(view(d), "no server answers") {
		t.Errorf("it does not say why there is nothing:\n%s", view(d))
	}
}

func TestDialogsFitAnyArea(t *testing.T) {
	t.Parallel()
	m := keys.New("")
	s := sessions.Session{ID: "id", Title: strings.Repeat("long title ", 20), CWD: "/" + strings.Repeat("d", 300), State: sessions.Running}
	theme := style.New(true, style.Full)
	for name, make := range map[string]func() dialog.Dialog{
		"new": func() dialog.Dialog {
			f := form("/x")
			press(f, "down")
			var many []string
			for i := range 50 {
				many = append(many, fmt.Sprintf("/x%s%d", strings.Repeat("y", 100), i))
			}
			f.SetDirectories("/x", many)
			return f
		},
		"question": func() dialog.Dialog { return dialog.NewQuestion(m, dialog.OpStop, s) },
		"rename":   func() dialog.Dialog { return dialog.NewRename(m, s, []string{"a", "b"}) },
		"help":     func() dialog.Dialog { return dialog.NewHelp(m, "", keys.Contexts()) },
		"details":  func() dialog.Dialog { return dialog.NewDetails(m, s) },
	} {
		for w := 40; w <= 200; w += 7 {
			for h := 11; h <= 50; h += 3 {
				block := make().View(theme, w, h)
				if gw, gh := lipgloss.Width(block), lipgloss.Height(block); gw > w || gh > h {
					t.Errorf("%s in %dx%d is %dx%d", name, w, h, gw, gh)
				}
			}
		}
	}
}

func TestOverlayIsAStack(t *testing.T) {
	t.Parallel()
	var o dialog.Overlay
	o.Close()
	if o.Top() != nil {
		t.Error("an empty stack has a top")
	}
	a, b := dialog.NewHelp(keys.New(""), "", nil), dialog.NewHelp(keys.New(""), "", nil)
	o.Open(a)
	o.Open(b)
	if o.Top() != b {
		t.Error("the last one is not on top")
	}
	if !o.Remove(a) || o.Remove(a) || o.Top() != b {
		t.Error("removing the lower one went wrong")
	}
	o.Close()
	if o.Top() != nil {
		t.Error("not empty")
	}
}
