package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"corral/sessions"
)

// Size is a number of bytes, written as a number or with a unit: "8MiB", "10GiB", "500MB".
type Size int64

// units are the factors of the letters before B or iB.
const units = " KMGT"

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	bad := fmt.Errorf(`%q is no size; write it as "10GiB" or "500MB"`, text)
	number, _ := strings.CutSuffix(string(text), "B")
	number, binary := strings.CutSuffix(number, "i")
	digits := strings.TrimRight(number, "kKMGT")
	unit := strings.ToUpper(number[len(digits):])
	if len(unit) > 1 || binary && unit == "" || strings.Trim(digits, "0123456789. ") != "" {
		return bad
	}
	n, err := strconv.ParseFloat(strings.TrimRight(digits, " "), 64)
	if err != nil {
		return bad
	}
	base := 1000.0
	if binary {
		base = 1024
	}
	n *= math.Pow(base, float64(max(0, strings.Index(units, unit))))
	if n >= math.MaxInt64 {
		return bad
	}
	*s = Size(n)
	return nil
}

// Share is a part of a file system: a percentage, or a number of bytes.
type Share struct {
	Percent float64
	Bytes   Size // counts when Percent is 0
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	if !percent {
		s.Percent = 0
		return s.Bytes.UnmarshalText(text)
	}
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || p < 0 || p > 100 || math.IsNaN(p) {
		return fmt.Errorf(`%q is no share of a disk; write it as "5%%" or "2GiB"`, text)
	}
	*s = Share{Percent: p}
	return nil
}

// problem is a value that its type allows and its meaning does not.
type problem struct{ key, says string }

// Limits that others set: the runtime caps a replay at 20 000 lines; a session full of coloured history costs 1.9 KB of
// tmux's memory per line, so 200 000 lines are 380 MB.
const (
	maxReplay  = 20_000
	maxHistory = 200_000
)

func (c Config) validate() problem {
	for _, check := range []struct {
		key  string
		ok   bool
		says string
	}{
		{"history.lines", c.History.Lines >= 0 && c.History.Lines <= maxHistory, fmt.Sprintf("must be from 0 to %d", maxHistory)},
		{"replay.lines", c.Replay.Lines >= 0 && c.Replay.Lines <= maxReplay, fmt.Sprintf("must be from 0 to %d", maxReplay)},
		{"journal.retention_days", c.Journal.RetentionDays >= 1, "must be at least 1"},
		{"journal.max_total", c.Journal.MaxTotal >= c.Journal.Segment, "must be at least journal.segment"},
		{"journal.segment", c.Journal.Segment >= 64<<10, "must be at least 64KiB"},
		{"events.retention_days", c.Events.RetentionDays >= 1, "must be at least 1"},
		{"prefix", validPrefix(c.Prefix), `must be ctrl+ and a letter or one of \ ] ^ _, and no key that programs cannot do without (ctrl+c, h, i, j, m)`},
		{"clipboard", c.Clipboard == ClipboardOff || c.Clipboard == ClipboardNotify || c.Clipboard == ClipboardOn, "must be off, notify or on"},
		{"notify.desktop", c.Notify.Desktop == DesktopOff || c.Notify.Desktop == DesktopOSC9 || c.Notify.Desktop == DesktopOSC777, "must be off, osc9 or osc777"},
		{"theme", c.Theme == "auto" || c.Theme == "dark" || c.Theme == "light", "must be auto, dark or light"},
	} {
		if !check.ok {
			return problem{check.key, check.says}
		}
	}
	return c.validateAgents()
}

// validateAgents looks at the configured agents in the order of their names, so that of two mistakes the same one is told
// each time.
func (c Config) validateAgents() problem {
	all := c.Profiles()
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if key, says := all[sessions.Kind(name)].Problem(name); says != "" {
			return problem{strings.TrimSuffix("agents."+name+"."+key, "."), says}
		}
	}
	return problem{}
}

// validPrefix accepts control characters that no key of their own sends: ctrl+h, i, j, m and [ are Backspace, Tab,
// Enter and Escape on a terminal.
func validPrefix(name string) bool {
	key, ok := strings.CutPrefix(strings.ToLower(name), "ctrl+")
	if !ok || len(key) != 1 {
		return false
	}
	return strings.Contains(`abdefgklnopqrstuvwxyz\]^_`, key)
}
