package attach

import (
	"context"
	"strings"
	"testing"

	"corral/sessions"
	"corral/vt"
)

func TestViewersAreToldTheWidths(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const table = "cell 32\n3b1 3b1 2\n"
	w, err := vt.LoadWidths(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	b.Hub.cfg.Widths = func(context.Context) (*vt.Widths, string) { return w, table }
	b.start(t, "a", 80, 24, "exec cat")
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	if f := v.last(sessions.FrameAttached); f.Widths != table {
		t.Errorf("told %q", f.Widths)
	}
}
