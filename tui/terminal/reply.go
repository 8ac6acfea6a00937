package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// parseReply returns the event that an answer of the terminal means, nil for an answer that nobody here waits for.
func parseReply(b []byte) Event {
	s := string(b)
	if mode, ok := strings.CutPrefix(s, "\x1b[?2026;"); ok {
		// DECRPM: 1 set, 2 reset, 3 permanently set; 0 unknown, 4 permanently reset
		if v, ok := strings.CutSuffix(mode, "$y"); ok && (v == "1" || v == "2" || v == "3") {
			return SyncSupported{}
		}
		return nil
	}
	s, ok := strings.CutPrefix(s, "\x1b]")
	if !ok {
		return nil
	}
	s = strings.TrimRight(s, "\x07\x1b\\")
	number, spec, _ := strings.Cut(s, ";")
	c, ok := parseColor(spec)
	switch {
	case !ok:
		return nil
	case number == "10":
		return Foreground{Color: c.String()}
	case number == "11":
		return Background{Color: c.String(), Dark: c.dark()}
	}
	return nil
}

type color [3]uint8

// parseColor reads XParseColor's forms that terminals answer with: rgb:R/G/B and rgba:R/G/B/A with 1 to 4 hex digits each,
// and #RRGGBB.
func parseColor(s string) (color, bool) {
	var c color
	if hex, ok := strings.CutPrefix(s, "#"); ok && len(hex) == 6 {
		v, err := strconv.ParseUint(hex, 16, 32)
		return color{uint8(v >> 16), uint8(v >> 8), uint8(v)}, err == nil
	}
	_, rest, ok := strings.Cut(s, ":")
	if !ok || !strings.HasPrefix(s, "rgb") {
		return c, false
	}
	fields := strings.Split(rest, "/")
	if len(fields) != 3 && len(fields) != 4 {
		return c, false
	}
	for i, f := range fields[:3] {
		v, err := strconv.ParseUint(f, 16, 16)
		if err != nil {
			return c, false
		}
		full := uint64(1)<<(4*len(f)) - 1
		c[i] = uint8((v*255 + full/2) / full)
	}
	return c, true
}

func (c color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// dark reports whether light text is the readable one: the luma of ITU-R BT.601 is under a half.
func (c color) dark() bool {
	return 299*int(c[0])+587*int(c[1])+114*int(c[2]) < 1000*128
}
