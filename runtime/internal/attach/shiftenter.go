package attach

import (
	"bytes"
	"context"
	"time"
)

// askedTime bounds the question whether a program asked for keys with modifiers, which a key waits for.
const askedTime = 300 * time.Millisecond

// Shift+Enter as terminals send it that were told, or set up, to tell it from Enter: as CSI u, and as modifyOtherKeys.
// Both are without meaning for a program that did not ask: tmux up to 3.4 drops them, later ones make a plain Enter of
// them, which submits. altEnter is what programs take for a new line that know only the keys that terminals always had.
var (
	shiftEnters = [][]byte{[]byte("\x1b[13;2u"), []byte("\x1b[27;2;13~")}
	altEnter    = []byte("\x1b\r")
)

// known returns what is typed for a key: itself, but for Shift+Enter where the program did not ask for it.
func (k *keyboard) known(ctx context.Context, token []byte) []byte {
	for _, s := range shiftEnters {
		if !bytes.Equal(token, s) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, askedTime)
		defer cancel()
		if !k.modified(ctx) {
			return altEnter
		}
	}
	return token
}
