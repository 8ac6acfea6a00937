package journal

import (
	"bytes"
	"slices"
)

// Typed is what a journal knows of input that the program may not have answered yet.
type Typed struct {
	// Input was typed since the newest moment at which nothing can have been pending, and Output printed since the first
	// byte of it: the echo, as far as there is one, is in it.
	Input, Output []byte
	// Sequence of the newest record that was looked at.
	Sequence int64
}

// maxTypedOutput is how much may have been printed since an input that is still pending: more is no echo.
const maxTypedOutput = 64 << 10

// clearing are the bytes after which a line that was typed is no longer pending: Enter in both forms, ^C and ^U.
const clearing = "\r\n\x03\x15"

// Pending returns what was typed in the session whose journal is in dir since something last took it all: an Enter, ^C,
// ^U, a password, a start or an end of the program. Where something is missing, or much was printed since, there is
// none: in doubt nothing is pending.
func Pending(dir string) (Typed, error) {
	var t Typed
	var inputs, outputs [][]byte // newest first
	var early [][]byte           // printed before the oldest of inputs, so far
	since, before := 0, 0        // bytes of outputs and early
	err := Backward(dir, func(r *Record) bool {
		t.Sequence = max(t.Sequence, r.Sequence)
		p, err := r.Data()
		switch {
		case err != nil || r.Redacted || r.Kind == Start || r.Kind == Exit || r.Kind == Gap:
			return false
		case r.Kind == Output:
			early, before = append(early, p), before+len(p)
			return before <= maxTypedOutput
		case r.Kind == Input:
			i := bytes.LastIndexAny(p, clearing)
			if rest := p[i+1:]; len(rest) > 0 {
				inputs, outputs, since = append(inputs, rest), append(outputs, early...), since+before
				early, before = nil, 0
			}
			return i < 0
		}
		return true
	})
	if err != nil || since > maxTypedOutput {
		return Typed{Sequence: t.Sequence}, err
	}
	slices.Reverse(inputs)
	slices.Reverse(outputs)
	t.Input, t.Output = bytes.Join(inputs, nil), bytes.Join(outputs, nil)
	return t, nil
}
