package terminal

import (
	"fmt"
	"strings"
)

// Key is a control key, named by the ASCII control character that it sends.
type Key struct{ code byte }

// DefaultPrefix is ctrl+\.
var DefaultPrefix = Key{code: 0x1c}

// ParseKey reads a key as people write it: "ctrl+a" to "ctrl+z", `ctrl+\`, "ctrl+]", "ctrl+^", "ctrl+_". Keys that no
// program can do without (ctrl+c, ctrl+m and the like) are allowed but for enter, tab and escape, which are other keys'
// bytes.
func ParseKey(s string) (Key, error) {
	name, ok := strings.CutPrefix(strings.ToLower(s), "ctrl+")
	if !ok || len(name) != 1 {
		return Key{}, fmt.Errorf(`key %q: want ctrl+ and one of a-z \ ] ^ _, as ctrl+\`, s)
	}
	switch c := name[0]; {
	case c == 'i' || c == 'm' || c == 'j':
		return Key{}, fmt.Errorf("key %q: terminals send the same byte for tab or enter; take another key", s)
	case c >= 'a' && c <= 'z':
		return Key{code: c & 0x1f}, nil
	case c == '\\' || c == ']' || c == '^' || c == '_':
		return Key{code: c & 0x1f}, nil
	}
	return Key{}, fmt.Errorf(`key %q: want ctrl+ and one of a-z \ ] ^ _, as ctrl+\`, s)
}

// String returns the key as ParseKey reads it, which is also how Bubble Tea names it.
func (k Key) String() string {
	if c := k.letter(); c != 0 {
		return "ctrl+" + string(rune(c))
	}
	return ""
}

// Bytes returns what the key sends to a program.
func (k Key) Bytes() []byte { return []byte{k.code} }

// letter returns the character that, with ctrl held, makes the key.
func (k Key) letter() byte {
	switch {
	case k.code == 0:
		return 0
	case k.code <= 26:
		return k.code | 0x60
	}
	return k.code | 0x40
}
