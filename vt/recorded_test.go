package vt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
	"corral/vt"
)

// recordedDiffers holds the cases in which this terminal is meant to differ from tmux, because tmux expects its outer
// terminal to, or because tmux's answer is an accident.
var recordedDiffers = map[string]string{
	"wrap-pending": "an erase in the column after the last erases the last, as in xterm",
	"bs-edges":     "BS steps back from a pending wrap, as in xterm",
	"tabs":         "CHT works",
	"cup-clamp":    "VPA ends a pending wrap, as in xterm",
	"ich-dch-ech":  "ICH past the end of the line erases to it",
	"il-dl-region": "IL and DL return to the first column, as in xterm",
	"decsc-decrc":  "the recording has line drawing as letters",
	"charset-g0":   "the recording has line drawing as letters",
	"charset-so":   "the recording has line drawing as letters",
	"rep":          "REP goes on after the end of the line, as in xterm",
	"wide-rep":     "REP repeats wide characters, as in xterm",
	"decstr":       "DECSTR resets the margins, as in xterm",
	"deccolm":      "DECCOLM is ignored, as in xterm unless told otherwise",
	"wide-dch":     "half a wide character that is left over is a blank",
	"wide-ich":     "half a wide character that is left over is a blank",
	"wide-ech":     "half a wide character that is left over is a blank",
	"zwj":          "a member of a family that does not fit into a cell is a cell of its own",
	"bad-utf8":     "broken characters show as U+FFFD",
	"bad-utf8-esc": "broken characters show as U+FFFD",
	"huge-params":  "a count beyond 65535 is 65535",
}

// TestRecordedScreens feeds each case directly, and compares with the screen that tmux 3.3a made of it.
func TestRecordedScreens(t *testing.T) {
	t.Parallel()
	for _, c := range oracleCases(t) {
		recorded, err := os.ReadFile(filepath.Join("testdata/cases", c.name+".tmux.txt"))
		if err != nil {
			continue // only its live screen is compared
		}
		s := vt.New(c.cols, c.rows)
		s.Write(c.data)
		f := s.Frame()
		got := fmt.Sprintf("%s\n-- cursor %d,%d", f.Text(), f.Cursor.Col, f.Cursor.Row)
		diff := cmp.Diff(recordedScreen(t, string(recorded), c), got)
		switch why, known := recordedDiffers[c.name]; {
		case diff != "" && !known:
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		case diff == "" && known:
			t.Errorf("%s: as tmux now, although %s", c.name, why)
		}
	}
}

// TestSplits cuts what programs print, in full at every offset but in the longest cases.
func TestSplits(t *testing.T) {
	t.Parallel()
	for _, c := range oracleCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testSplits(t, c.data, c.cols, c.rows, rounds.N(8, 64, 4000))
		})
	}
}

// recordedScreen returns a recording without the title and with the cursor inside the screen: tmux places it one
// column behind for a pending wrap.
func recordedScreen(t *testing.T, recording string, c oracleCase) string {
	t.Helper()
	screen, last, _ := strings.Cut(recording, "\n-- cursor ")
	var col, row int
	if _, err := fmt.Sscanf(last, "%d,%d", &col, &row); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return fmt.Sprintf("%s\n-- cursor %d,%d", screen, min(col, c.cols-1), row)
}
