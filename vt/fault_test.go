package vt_test

import (
	"strings"
	"testing"
	"time"

	"corral/vt"
)

func TestFaultBlanksTheScreen(t *testing.T) {
	t.Parallel()
	broken := vt.WithClock(func() time.Time { panic("a clock that breaks") }) // it is asked for synchronized updates only
	var faults []any
	s := vt.New(10, 2, broken, vt.OnFault(func(fault any, stack []byte) {
		if len(stack) == 0 {
			t.Error("no stack")
		}
		faults = append(faults, fault)
	}))
	for range 2 {
		s.Write([]byte("before\x1b[31m\x1b[?2026hlost"))
		s.Write([]byte("after"))
		if got := strings.TrimSpace(s.Frame().Text()); got != "after" || s.Frame().Row(0)[0].Style != (vt.Style{}) {
			t.Errorf("shows %q", got)
		}
	}
	if len(faults) != 2 || faults[0] != "a clock that breaks" {
		t.Errorf("faults %v", faults)
	}

	defer func() {
		if recover() == nil {
			t.Error("a fault that nobody wants to know of was hidden")
		}
	}()
	vt.New(10, 2, broken).Write([]byte("\x1b[?2026h"))
}
