package attach

import (
	"bytes"
	"strconv"
	"strings"
)

// tmux writes the terminal's title immediately before it redraws a client, from the same state and in the same turn of
// its loop (server-client.c: server_client_check_redraw), and draws nothing else to that client while the redraw is
// pending. So the title carries the state of exactly that moment: it is made into a marker, and cut out of the stream.
// client_written grows with every redraw; without it an unchanged title would not be written again.
//
// The width of a cell in pixels is ours to choose when the size of the PTY is set, and changes nothing that is drawn:
// it numbers the redraws. A marker with the number last set proves that tmux has seen that setting, and with it has
// forgotten whatever it believed of its terminal (tty.c: tty_resize, tty_invalidate), so that the redraw behind this
// marker can be followed by a terminal that has just been reset.
const markerFields = ";#{history_size};#{client_written};#{alternate_on};#{pane_width}x#{pane_height}" +
	";#{client_cell_width};#{=200:pane_title}"

// markerFormat is the set-titles-string that makes every full redraw begin with a marker.
func markerFormat(nonce string) string { return nonce + markerFields }

// marker is the state of a pane at the moment a redraw of it begins.
type marker struct {
	history    int // lines in the history
	alternate  bool
	cols, rows int
	redraw     int // number of the redraw, see cellWidth
	title      string
}

// parseMarker reads the body of an OSC as a marker. isMarker is true for everything that begins with the nonce; ok only
// for what follows the format.
func parseMarker(body []byte, nonce string) (m marker, isMarker, ok bool) {
	_, text, found := bytes.Cut(body, []byte{';'}) // the 0 or 2 of OSC
	if !found || nonce == "" || !bytes.HasPrefix(text, []byte(nonce+";")) {
		return marker{}, false, false
	}
	fields := strings.SplitN(string(text), ";", 7)
	if len(fields) != 7 {
		return marker{}, true, false
	}
	cols, rows, _ := strings.Cut(fields[4], "x")
	m.history, ok = number(fields[1], true)
	m.alternate = fields[3] == "1"
	m.cols, ok = number(cols, ok)
	m.rows, ok = number(rows, ok)
	m.redraw, ok = number(fields[5], ok)
	m.title = cleanTitle(fields[6])
	return m, true, ok
}

// number reads s; ok stays true while everything read so far was a number.
func number(s string, ok bool) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, ok && err == nil
}

// cleanTitle removes control characters: a title is set by the program and shown outside its pane.
func cleanTitle(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// titleSequence sets the title of the viewer's emulator.
func titleSequence(title string) string { return "\x1b]0;" + title + "\a" }
