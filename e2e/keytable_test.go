package e2e

import "fmt"

// key is a row of the table: what a terminal sends, in one piece or several, and what the program reads.
type key struct {
	name    string
	typed   []string
	reads   string
	lingers bool // the beginning of a sequence: it counts as a key when nothing follows
	// overtakes means that all before it must have been read when it is typed.
	overtakes bool
	direct    bool // holds only without a tmux in between, which has its own mind about it
}

// keyTable is what terminals send for the keys that people have, and what a program reads that asked for a. The program's
// first cell is at x, y of the terminal. The encodings are those of xterm
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html); tmux decides what becomes of them.
func keyTable(a asked, x, y int) []key {
	table := plainKeys()
	table = append(table, functionKeys()...)
	table = append(table, cursorKeys(a)...)
	table = append(table, prefixAndPaste(a)...)
	table = append(table, mouseAndFocus(a, x, y)...)
	return append(table, extendedKeys(a)...)
}

// same is a key that every program reads as it was typed.
func same(name, bytes string) key { return key{name: name, typed: []string{bytes}, reads: bytes} }

func plainKeys() []key {
	table := []key{
		same("text", "text äöü€漢字🙂"), same("ctrl+space", "\x00"), same("ctrl+]", "\x1d"), same("ctrl+^", "\x1e"),
		same("ctrl+_", "\x1f"), same("backspace", "\x7f"), same("shift+tab", "\x1b[Z"),
		same("alt+enter", "\x1b\r"), same("alt+backspace", "\x1b\x7f"), same("alt+é", "\x1bé"),
	}
	for c := byte(1); c <= 26; c++ {
		table = append(table, same("ctrl+"+string(rune(c+'a'-1)), string(rune(c))))
	}
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNQRSTUVWYZ0123456789.,<>/-=" {
		table = append(table, same("alt+"+string(c), "\x1b"+string(c)))
	}
	for _, c := range "OPX[]^_" { // with what follows they are sequences
		row := same("alt+"+string(c), "\x1b"+string(c))
		row.lingers = true
		table = append(table, row)
	}
	escape := same("escape", "\x1b")
	escape.lingers = true
	return append(
		table, escape,
		key{name: "é in two pieces", typed: []string{"\xc3", "\xa9"}, reads: "é", direct: true},
		key{name: "🙂 in four pieces", typed: []string{"\xf0", "\x9f", "\x99", "\x82"}, reads: "🙂", direct: true},
		key{name: "ctrl+right in three pieces", typed: []string{"\x1b", "[1;", "5C"}, reads: "\x1b[1;5C", direct: true},
	)
}

func functionKeys() []key {
	var table []key
	for i, c := range "PQRS" {
		table = append(table, same(fmt.Sprintf("f%d", i+1), "\x1bO"+string(c)))
		for m := 2; m <= 8; m++ {
			table = append(table, same(fmt.Sprintf("f%d with modifiers %d", i+1, m), fmt.Sprintf("\x1b[1;%d%c", m, c)))
		}
	}
	for i, n := range []int{15, 17, 18, 19, 20, 21, 23, 24} {
		table = append(table, same(fmt.Sprintf("f%d", i+5), fmt.Sprintf("\x1b[%d~", n)))
		for m := 2; m <= 8; m++ {
			table = append(table, same(fmt.Sprintf("f%d with modifiers %d", i+5, m), fmt.Sprintf("\x1b[%d;%d~", n, m)))
		}
	}
	return table
}

func cursorKeys(a asked) []key {
	table := []key{
		same("insert", "\x1b[2~"), same("delete", "\x1b[3~"), same("page up", "\x1b[5~"), same("page down", "\x1b[6~"),
		same("ctrl+delete", "\x1b[3;5~"), same("ctrl+page up", "\x1b[5;5~"),
	}
	for _, home := range []string{"\x1b[H", "\x1bOH", "\x1b[1~"} {
		table = append(table, key{name: "home", typed: []string{home}, reads: "\x1b[1~"})
	}
	for _, end := range []string{"\x1b[F", "\x1bOF", "\x1b[4~"} {
		table = append(table, key{name: "end", typed: []string{end}, reads: "\x1b[4~"})
	}
	for _, c := range "ABCD" {
		reads := "\x1b[" + string(c)
		if a == askedModes {
			reads = "\x1bO" + string(c)
		}
		// A terminal sends the one or the other, by a mode that tmux sets; either means the same.
		for _, introducer := range []string{"\x1b[", "\x1bO"} {
			table = append(table, key{name: "arrow " + string(c), typed: []string{introducer + string(c)}, reads: reads})
		}
		for m := 2; m <= 8; m++ {
			table = append(table, same(fmt.Sprintf("arrow %c with modifiers %d", c, m), fmt.Sprintf("\x1b[1;%d%c", m, c)))
		}
	}
	return table
}

func prefixAndPaste(a asked) []key {
	paste := func(text string) string {
		if a == askedModes {
			return "\x1b[200~" + text + "\x1b[201~"
		}
		return text
	}
	const text = "two lines\rwith " + prefix + " and ä"
	return []key{
		{name: "prefix twice", typed: []string{prefix + prefix}, reads: prefix},
		{name: "prefix twice in two pieces", typed: []string{prefix, prefix}, reads: prefix},
		{name: "prefix twice amid text", typed: []string{"ab" + prefix + prefix + "cd"}, reads: "ab" + prefix + "cd"},
		{name: "prefix twice as CSI u", typed: []string{"\x1b[92;5u\x1b[92;5u"}, reads: prefix, direct: true},
		{name: "prefix twice as modifyOtherKeys", typed: []string{"\x1b[27;5;92~\x1b[27;5;92~"}, reads: prefix, direct: true},
		{name: "paste with the prefix inside", typed: []string{"\x1b[200~" + text + "\x1b[201~"}, reads: paste(text)},
		{name: "paste in pieces", typed: []string{"\x1b[20", "0~a\xc3", "\xa4\x1b[2", "01~"}, reads: paste("aä"), direct: true},
		{name: "answers of the terminal", typed: []string{"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?62;22c\x1b[?2026;2$y\x1bP>|xterm(400)\x1b\\"}, direct: true},
	}
}

func mouseAndFocus(a asked, x, y int) []key {
	at := func(button, col, row int, final string) string {
		return fmt.Sprintf("\x1b[<%d;%d;%d%s", button, col, row, final)
	}
	reads := func(s string) string {
		if a != askedModes {
			return ""
		}
		return s
	}
	press, release := at(0, x+4, y+3, "M"), at(0, x+4, y+3, "m")
	return []key{
		{name: "click in the pane", typed: []string{press + release}, reads: reads("\x1b[<0;4;3M\x1b[<0;4;3m")},
		{name: "wheel in the pane", typed: []string{at(64, x+1, y+1, "M")}, reads: reads("\x1b[<64;1;1M")},
		{name: "click outside", typed: []string{at(0, x+4, y, "M") + at(0, x+4, y, "m")}},
		{name: "click in the pane, released outside", typed: []string{press + at(0, x+4, y, "m")}, reads: reads("\x1b[<0;4;3M\x1b[<0;4;1m")},
		{name: "half a report", typed: []string{press[:6], press[6:] + release}, reads: reads("\x1b[<0;4;3M\x1b[<0;4;3m"), direct: true},
		// tmux tells of the focus as soon as it has read it, before what was typed earlier and waits.
		{name: "focus", typed: []string{"\x1b[O", "\x1b[I"}, reads: reads("\x1b[O\x1b[I"), direct: true, overtakes: true},
	}
}

func extendedKeys(a asked) []key {
	// Line feed with a modifier exists only where it was asked for. A program that did not gets what alt+enter sends, which
	// those that take more than one line take for a new one.
	shiftEnter := "\x1b\r"
	if a == askedKeys {
		shiftEnter = "\x1b[13;2u"
	}
	return []key{
		{name: "ctrl+a as CSI u", typed: []string{"\x1b[97;5u"}, reads: "\x01"},
		{name: "shift+enter as CSI u", typed: []string{"\x1b[13;2u"}, reads: shiftEnter, direct: true},
		{name: "shift+enter as modifyOtherKeys", typed: []string{"\x1b[27;2;13~"}, reads: shiftEnter, direct: true},
	}
}
