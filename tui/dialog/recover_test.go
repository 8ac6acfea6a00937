package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/style"
)

func TestLostSessionsFitAnyArea(t *testing.T) {
	t.Parallel()
	theme, m := style.New(true, style.Full), keys.New("")
	var plan []sessions.Recovery
	for i := range 30 {
		plan = append(plan, sessions.Recovery{
			Session: sessions.Session{ID: sessions.ID(fmt.Sprint(i)), Title: strings.Repeat("日本 ", 40), CWD: "/" + strings.Repeat("x", 300)},
			Way:     "resume", LastPrompt: strings.Repeat("words ", 60), Argv: []string{"claude", "--resume", "x"}, Lost: "a turn",
			Problem: strings.Repeat("problem ", 40*(i%2)),
		})
	}
	page := dialog.NewRecover(m, plan, true)
	for i := range 30 {
		for _, at := range [][2]int{{40, 11}, {80, 23}, {200, 49}} {
			block := page.View(theme, at[0], at[1])
			if w, h := lipgloss.Width(block), lipgloss.Height(block); w > at[0] || h > at[1] {
				t.Fatalf("at %d: %dx%d in an area of %dx%d:\n%s", i, w, h, at[0], at[1], block)
			}
		}
		press(page, "j")
	}
	choice := dialog.NewChoice(m, plan[0].Session, strings.Repeat("gone ", 50), []sessions.Choice{
		{Conversation: sessions.ConversationLatest, LastPrompt: strings.Repeat("words ", 60)}, {Conversation: sessions.ConversationFresh},
	})
	block := choice.View(theme, 40, 11)
	if w, h := lipgloss.Width(block), lipgloss.Height(block); w > 40 || h > 11 {
		t.Errorf("choice: %dx%d:\n%s", w, h, block)
	}
	if got := press(choice, "f"); got != (dialog.ConversationChosen{ID: "0", Conversation: sessions.ConversationFresh}) {
		t.Errorf("f: %+v", got)
	}
}
