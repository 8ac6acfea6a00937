package vt

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Bounds on what a program may say about itself.
const (
	maxTitle = 4096
	maxLink  = 2083 // what browsers and VTE take
)

// str executes a control string.
func (t *terminal) str(kind byte, data []byte) {
	t.interrupt()
	switch kind {
	case 'P': // iTerm2's form of synchronized output, which tmux up to 3.3a sends
		switch string(data) {
		case "=1s":
			t.sync(true)
		case "=2s":
			t.sync(false)
		}
	case ']':
		t.osc(data)
	}
}

func (t *terminal) osc(data []byte) {
	if !utf8.Valid(data) {
		return
	}
	num, arg, _ := strings.Cut(string(data), ";")
	switch num {
	case "0", "2":
		t.setTitle(arg)
	case "7":
		t.setDirectory(arg)
	case "8":
		t.setLink(arg)
	}
}

func (t *terminal) setTitle(s string) {
	if len(s) > maxTitle {
		return
	}
	s = t.widths.Sanitize(s)
	if s != t.title {
		t.title = s
		t.emit(EventTitle, s)
	}
}

// setDirectory takes a file URL or a plain path.
func (t *terminal) setDirectory(s string) {
	if u, err := url.Parse(s); err == nil && u.Scheme == "file" {
		s = u.Path
	}
	if len(s) > maxTitle || !strings.HasPrefix(s, "/") || s != t.widths.Sanitize(s) {
		return
	}
	if s != t.directory {
		t.directory = s
		t.emit(EventDirectory, s)
	}
}

// setLink begins or ends a hyperlink: parameters, a semicolon, the address.
func (t *terminal) setLink(s string) {
	_, address, ok := strings.Cut(s, ";")
	if !ok {
		return
	}
	pen := t.pen
	pen.Link = 0
	if linkAllowed(address) {
		t.room()
		pen.Link = t.table.link(address)
		t.emit(EventLink, address)
	}
	t.setPen(pen)
}

// linkAllowed reports whether an address may be offered to a person: printable ASCII, and a scheme that names something
// to read rather than something to run.
func linkAllowed(address string) bool {
	if len(address) > maxLink {
		return false
	}
	for i := range len(address) {
		if address[i] <= ' ' || address[i] >= 0x7f {
			return false
		}
	}
	scheme, _, ok := strings.Cut(address, ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "file", "ftp", "mailto":
		return true
	}
	return false
}
