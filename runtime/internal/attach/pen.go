package attach

import (
	"bytes"
	"slices"
)

// pen is the rendition (SGR) that a run of text leaves behind. It keeps the parameters that are in force as they were
// written, so that it needs to know only which of them replace each other.
type pen struct {
	params [][]byte // in force, in the order in which they were given
}

// write follows every SGR sequence of p.
func (p *pen) write(text []byte) {
	for {
		i := bytes.IndexByte(text, esc)
		if i < 0 {
			return
		}
		text = text[i:]
		k, n := scan(text)
		if k == incomplete {
			return
		}
		if k == csi && text[n-1] == 'm' {
			p.sgr(text[2 : n-1])
		}
		text = text[n:]
	}
}

func (p *pen) sgr(params []byte) {
	fields := bytes.Split(params, []byte{';'})
	for len(fields) > 0 {
		n := 1
		// 38;5;n and 38;2;r;g;b are one parameter; with colons they are one field anyway.
		if len(fields) > 1 && slices.Contains([]string{"38", "48", "58"}, string(fields[0])) {
			switch string(fields[1]) {
			case "5":
				n = 3
			case "2":
				n = 5
			}
		}
		n = min(n, len(fields))
		p.set(bytes.Join(fields[:n], []byte{';'}))
		fields = fields[n:]
	}
}

// set puts one parameter in force.
func (p *pen) set(param []byte) {
	number, _, _ := bytes.Cut(param, []byte{';'})
	number, kind, _ := bytes.Cut(number, []byte{':'})
	class, off := sgrClass(string(number), string(kind))
	if class == "" {
		p.params = nil
		return
	}
	p.params = slices.DeleteFunc(p.params, func(old []byte) bool {
		number, _, _ := bytes.Cut(old, []byte{';'})
		number, kind, _ := bytes.Cut(number, []byte{':'})
		c, _ := sgrClass(string(number), string(kind))
		return c == class || class == "weight" && c == "bold" // 22 ends bold and faint
	})
	if !off {
		p.params = append(p.params, bytes.Clone(param))
	}
}

// sgrClass says what a parameter sets, by ECMA-48 8.3.117 and xterm's extensions, and whether it only resets that; ""
// is everything. Unknown parameters are each a class of their own.
func sgrClass(number, kind string) (class string, off bool) {
	switch number {
	case "", "0":
		return "", true
	case "1":
		return "bold", false
	case "2":
		return "weight", false
	case "22":
		return "weight", true
	case "3", "23":
		return "italic", number == "23"
	case "4", "21", "24":
		return "underline", number == "24" || kind == "0"
	case "5", "6", "25":
		return "blink", number == "25"
	case "7", "27":
		return "reverse", number == "27"
	case "8", "28":
		return "hidden", number == "28"
	case "9", "29":
		return "strike", number == "29"
	case "53", "55":
		return "overline", number == "55"
	case "58", "59":
		return "underline colour", number == "59"
	case "39":
		return "foreground", true
	case "49":
		return "background", true
	}
	switch {
	case len(number) == 2 && (number[0] == '3' || number[0] == '9'):
		return "foreground", false
	case len(number) == 2 && number[0] == '4', len(number) == 3 && number[:2] == "10":
		return "background", false
	}
	return number, false
}

// sequence sets a default pen to p.
func (p *pen) sequence() []byte {
	if len(p.params) == 0 {
		return nil
	}
	out := append([]byte("\x1b["), bytes.Join(p.params, []byte{';'})...)
	return append(out, 'm')
}
