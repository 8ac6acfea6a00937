package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Custom is New with keys that the user chose: by the name of an action of the dashboard, as "quit", or of another context,
// as "history.search", one key or several with blanks between. A prefix goes on leaving whatever is read.
func Custom(prefix string, chosen map[string]string) (*Map, error) {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	m := New(prefix)
	for name, keys := range chosen {
		b, err := m.named(name)
		if err != nil {
			return nil, err
		}
		b.Keys = strings.Fields(keys)
		if len(b.Keys) == 0 {
			return nil, fmt.Errorf("keys.%s names no key", name)
		}
		for i, key := range b.Keys {
			if b.Keys[i], err = parse(key); err != nil {
				return nil, fmt.Errorf("keys.%s: %w", name, err)
			}
		}
		if b.Action == Leave {
			b.Keys = append(b.Keys, prefix)
		}
	}
	return m, m.reindex()
}

// named returns the binding with a name.
func (m *Map) named(name string) (*Binding, error) {
	context, action, dotted := strings.Cut(name, ".")
	if !dotted {
		context, action = string(Dashboard), name
	}
	if Context(context) == Pane {
		return nil, fmt.Errorf("keys.%s cannot be chosen; prefix is that key", name)
	}
	i := slices.IndexFunc(m.bindings, func(b Binding) bool {
		return b.Context == Context(context) && b.Action == Action(action)
	})
	if i < 0 {
		return nil, fmt.Errorf("keys.%s is no key of the dashboard", name)
	}
	return &m.bindings[i], nil
}

// reindex builds the index anew and finds two actions on one key.
func (m *Map) reindex() error {
	m.index = make(map[Context]map[string]Action)
	for _, b := range m.bindings {
		if m.index[b.Context] == nil {
			m.index[b.Context] = make(map[string]Action)
		}
		for _, k := range b.Keys {
			if other, taken := m.index[b.Context][k]; taken && other != b.Action {
				return fmt.Errorf("the key %s is both %s and %s, in the %s; choose another for one of them", Name(k), other, b.Action, b.Context)
			}
			m.index[b.Context][k] = b.Action
		}
	}
	return nil
}

// special are the keys that have names, in Bubble Tea's spelling; what ctrl makes of a letter has its own.
var special = []string{ //nolint:gochecknoglobals // a table
	"enter", "esc", "tab", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
}

// parse returns a key as Bubble Tea spells it.
func parse(key string) (string, error) {
	if key == "space" {
		return " ", nil
	}
	bare := key
	for _, with := range []string{"alt+", "ctrl+", "shift+"} {
		bare = strings.TrimPrefix(bare, with)
	}
	switch {
	case slices.Contains(special, bare):
		return key, nil
	case utf8.RuneCountInString(bare) == 1 && !strings.HasPrefix(strings.TrimPrefix(key, "alt+"), "shift+"):
		return key, nil
	}
	return "", fmt.Errorf(`%q is no key; write it as x, ctrl+x, alt+x, space or pgup`, key)
}
