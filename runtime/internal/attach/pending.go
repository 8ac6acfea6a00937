package attach

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"corral/vt"
)

// pendingInput returns what was typed into a terminal and shows nowhere yet, and the sequence up to which that is so.
// Showing too little is allowed, showing anything twice never, so whatever is in doubt counts as shown.
func (v *viewer) pendingInput(ctx context.Context, r restoration) (pending string, sequence int64) {
	t := v.hub.cfg.Recorder.Pending(ctx, v.terminal.id)
	if r.marker.alternate || r.window.ended != nil {
		return "", t.Sequence
	}
	left, right := aroundCursor(r.screen)
	return unechoed(typedLine(t.Input), t.Output, left, right), t.Sequence
}

// typedLine returns the line that results from what was typed, "" when nobody but the program knows: after the keys that
// edit it, other than backspace.
func typedLine(input []byte) string {
	var line []byte
	for len(input) > 0 {
		r, n := utf8.DecodeRune(input)
		switch {
		case (r == '\b' || r == 0x7f) && len(line) > 0:
			_, last := utf8.DecodeLastRune(line)
			line = line[:len(line)-last]
		case r < ' ' || r == 0x7f || r == utf8.RuneError && n <= 1:
			return ""
		default:
			line = append(line, input[:n]...)
		}
		input = input[n:]
	}
	return string(line)
}

// aroundCursor returns the text of the cursor's row before the cursor and from it on.
func aroundCursor(f *vt.Frame) (left, right string) {
	var before, after strings.Builder
	for x, cell := range f.Row(f.Cursor.Row) {
		if x < f.Cursor.Col {
			before.WriteString(cell.Text)
		} else {
			after.WriteString(cell.Text)
		}
	}
	return before.String(), after.String()
}

// unechoed returns the end of typed that the program has not echoed, "" in doubt. printed is what came since typed was
// begun; left and right are the cursor's row on its two sides.
//
// An echo is a beginning of typed that ends at the cursor. The longest is taken: a shorter one would show the rest of it
// twice. It is an echo only if it was the last that was printed, by nothing but writing on; a program that moves the
// cursor about has its own idea of where the line is. And without an echo at the cursor there must be none elsewhere.
func unechoed(typed string, printed []byte, left, right string) string {
	if typed == "" || strings.TrimRight(right, " ") != "" {
		return ""
	}
	echo := typed
	for !strings.HasSuffix(left, echo) {
		_, n := utf8.DecodeLastRuneInString(echo)
		echo = echo[:len(echo)-n]
	}
	if len(printed) == 0 {
		return typed[len(echo):]
	}
	text, plainly := written(printed)
	first, _ := utf8.DecodeRuneInString(typed)
	switch {
	case !plainly:
		return ""
	case echo == "" && strings.ContainsRune(text, first):
		return ""
	case !strings.HasSuffix(text, echo):
		return ""
	}
	return typed[len(echo):]
}

// written returns the text that p writes, and whether it does so by writing on: with no more than colours, modes, titles,
// line ends and the clearing of what is to the right.
func written(p []byte) (text string, plainly bool) {
	var b strings.Builder
	for len(p) > 0 {
		kind, n := scan(p)
		if kind == incomplete {
			break // its rest has not come
		}
		token := p[:n]
		p = p[n:]
		switch kind {
		case plain:
			if bytes.ContainsAny(token, "\b\t\v\f\x0e\x0f") {
				return "", false
			}
			b.Write(token)
		case csi:
			if !writesOn(token) {
				return "", false
			}
		case osc:
		case escape:
			if s := string(token); s != "\x1b=" && s != "\x1b>" && s != "\x1b(B" {
				return "", false
			}
		case otherStr, broken, incomplete:
			return "", false
		}
	}
	return b.String(), true
}

// writesOn reports whether a control sequence leaves cursor and screen where they are.
func writesOn(token []byte) bool {
	switch token[len(token)-1] {
	case 'm', 'q':
		return true
	case 'K':
		return string(token) == "\x1b[K" || string(token) == "\x1b[0K"
	case 'J':
		return string(token) == "\x1b[J" || string(token) == "\x1b[0J"
	case 'h', 'l':
		return token[2] == '?' && !bytes.Contains(token, []byte("47")) && !bytes.Contains(token, []byte("104"))
	}
	return false
}
