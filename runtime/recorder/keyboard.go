package recorder

import (
	"bytes"
	"context"
	"strconv"
)

// modifyOtherKeys begins what a program says of the keys that it can read (xterm: XTMODKEYS, resource 4): CSI > 4 ; n m,
// where 1 and 2 ask for keys with modifiers that have no byte of their own, and 0 or nothing ends that. tmux up to 3.4
// tells nobody about it.
var modifyOtherKeys = []byte("\x1b[>4") //nolint:gochecknoglobals // a constant

// keysAsked looks for the last such word in output and reports what it asks for; found is false when there is none. A
// record never ends inside a sequence.
func keysAsked(output []byte) (asked, found bool) {
	for {
		i := bytes.LastIndex(output, modifyOtherKeys)
		if i < 0 {
			return false, false
		}
		rest := output[i+len(modifyOtherKeys):]
		output = output[:i]
		end := bytes.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		switch {
		case end < 0 || end > 0 && rest[0] != ';': // cut off, or another resource
		case rest[end] == 'n':
			return false, true
		case rest[end] == 'm':
			n, _ := strconv.Atoi(string(bytes.TrimPrefix(rest[:end], []byte(";")))) // nothing is 0
			return n == 1 || n == 2, true
		}
	}
}

// keysLocked notes what the session's program asked of its keyboard in output.
func (w *worker) keysLocked(id string, output []byte) {
	switch asked, found := keysAsked(output); {
	case !found:
	case asked:
		w.keys[id] = true
	default:
		delete(w.keys, id)
	}
}

// ModifiedKeys reports whether the program of session id has asked for keys with modifiers, as far as the recorder has
// seen it print.
func (c *Client) ModifiedKeys(ctx context.Context, id string) (bool, error) {
	m, err := c.ask(ctx, message{Op: opKeys, ID: id})
	return m.Asked, err
}
