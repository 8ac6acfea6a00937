package keys

import "strings"

// Name spells a key for people.
func Name(key string) string {
	switch key {
	case " ":
		return "space"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	case "pgdown":
		return "page down"
	case "pgup":
		return "page up"
	}
	return key
}

// Names spells the keys of a binding for people, as "j ↓": three at most, since the others are for those who try.
func (b Binding) Names() string {
	const most = 3
	var names []string
	for _, k := range b.Keys[:min(len(b.Keys), most)] {
		names = append(names, Name(k))
	}
	return strings.Join(names, " ")
}

// Markdown returns docs/keys.md.
func (m *Map) Markdown() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nEvery key of the dashboard. `?` shows the same list inside it.\n" +
		"This page is made from the table in `tui/keys`; `go test ./tui/keys -update` writes it.\n")
	for _, c := range Contexts() {
		b.WriteString("\n## " + c.Title() + "\n\n| keys | what they do |\n|---|---|\n")
		for _, binding := range m.Bindings(c) {
			names := make([]string, len(binding.Keys))
			for i, k := range binding.Keys {
				names[i] = "`" + strings.ReplaceAll(Name(k), "|", `\|`) + "`"
			}
			b.WriteString("| " + strings.Join(names, " ") + " | " + binding.Long + " |\n")
		}
	}
	b.WriteString("\nWhile a session has the keyboard every other key goes to the program. " +
		"The prefix key can be changed: `prefix` in the configuration file.\n")
	return b.String()
}
