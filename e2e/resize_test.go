package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/vt"
)

// pouring prints coloured lines of many kinds and lengths as long as the file $1 exists.
const pouring = `i=0
while [ -e $1 ]; do
	i=$((i + 1))
	printf "\033[3$((i % 8))m$i 漢字 🙂 e\314\201 %0$((i % 60 + 1))d\033[m\r\n" $i
done
echo poured
exec sleep 1000
`

// TestResizesUnderLoad resizes the user's terminal again and again while a program pours output into the pane. When both
// have come to rest, every cell of the pane must be as tmux says.
func TestResizesUnderLoad(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	script, running := filepath.Join(c.Dir, "pouring"), filepath.Join(c.Dir, "running")
	for file, text := range map[string]string{script: pouring, running: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Create("--kind", "command", "--title", "pours", "--cwd", c.Home, "--", "sh", script, running)
	cols, rows := 120, 40
	d := c.Dashboard(cols, rows)
	d.WaitFor("pours", "漢字")
	d.Type("\r") // who types owns the size
	d.WaitFor("gives the keyboard back")
	random := rand.New(rand.NewPCG(3, 4))
	for range rounds.N(8, 40, 150) {
		cols, rows = 45+random.IntN(120), 12+random.IntN(40)
		d.Resize(cols, rows)
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
	}
	if err := os.Remove(running); err != nil {
		t.Fatal(err)
	}
	c.Eventually(harness.Soon, func() error {
		out, err := c.Tmux("display-message", "-p", "-t", "=cr-"+string(s.ID)+":", "#{window_width}x#{window_height}", ";",
			"capture-pane", "-e", "-p", "-N", "-t", "=cr-"+string(s.ID)+":")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		size, screen, _ := strings.Cut(out, "\n")
		if !strings.Contains(screen, "poured") {
			return fmt.Errorf("the program prints still")
		}
		return comparePane(d.Frame(), size, vt.ParseCapture([]byte(screen)))
	})
	d.Type(prefix + "q")
	d.Exit()
}

// comparePane compares the pane on the user's terminal with the window that tmux has of that size.
func comparePane(f *vt.Frame, size string, want [][]vt.Cell) error {
	left := 0
	for left < f.Cols && f.Row(0)[left].Text != "│" {
		left++
	}
	left++
	width, height := f.Cols-left, f.Rows-2
	if got := fmt.Sprintf("%dx%d", width, height); got != size {
		return fmt.Errorf("the pane has %s cells, the window %s", got, size)
	}
	for y := range height {
		var row []vt.Cell
		if y < len(want) {
			row = want[y]
		}
		for x, got := range f.Row(y + 1)[left:] {
			blank := x >= len(row) && got.Text == " "
			if !blank && (x >= len(row) || got != row[x]) {
				return fmt.Errorf("row %d, column %d: %+v\n%s", y, x, got, f.Text())
			}
		}
	}
	return nil
}
