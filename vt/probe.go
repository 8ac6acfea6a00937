package vt

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/rivo/uniseg"
)

// probeBatch is how many characters are asked about before answers are read: their answers, of at most 8 bytes each,
// fit into the 4 KB that a PTY holds.
const probeBatch = 400

// DoubtfulRunes returns the characters about whose width programs disagree: those that two libraries measure
// differently, those on which tmux is known to differ, and some of each kind that was redefined over the years.
func DoubtfulRunes() []rune {
	known := DefaultWidths()
	var doubtful []rune
	for r := rune(0xa0); r < 0x20000; r++ {
		if !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r) {
			continue
		}
		n := displaywidth.Rune(r)
		if _, special := known.find(r); special || n != uniseg.StringWidth(string(r)) {
			doubtful = append(doubtful, r)
		}
	}
	return doubtful
}

// ProbeWidths measures characters by printing each on term, which must be a terminal in raw mode of at least 8 columns,
// and asking for the cursor's position. It takes some 10 ms per thousand characters, and leaves the cursor's row
// overwritten. cellBytes is what the tmux around the terminal keeps per cell. The caller bounds the time by closing term.
func ProbeWidths(term io.ReadWriter, runes []rune, cellBytes int) (*Widths, error) {
	measured := make(map[rune]int, len(runes))
	replies := replyReader{r: term}
	for len(runes) > 0 {
		batch := runes[:min(len(runes), probeBatch)]
		runes = runes[len(batch):]
		var b []byte
		for _, r := range batch {
			b = append(b, "\rx"...)
			b = append(b, string(r)...)
			b = append(b, "\x1b[6n"...)
		}
		if _, err := term.Write(append(b, "\r\x1b[K"...)); err != nil {
			return nil, fmt.Errorf("probe character widths: %w", err)
		}
		for _, r := range batch {
			col, err := replies.column()
			if err != nil {
				return nil, fmt.Errorf("probe the width of %U: %w", r, err)
			}
			measured[r] = col - len("x") - 1
		}
	}
	return newWidths(cellBytes, measured), nil
}

// replyReader reads cursor position reports (CPR): CSI row ; column R.
type replyReader struct {
	r   io.Reader
	buf []byte
}

var errReply = errors.New("the terminal's answer is no cursor position")

// column returns the column of the next report, from 1.
func (p *replyReader) column() (int, error) {
	for i := 0; ; i++ {
		if i == len(p.buf) {
			if i > 64 {
				return 0, errReply
			}
			var chunk [4096]byte
			n, err := p.r.Read(chunk[:])
			if n == 0 && err != nil {
				return 0, err
			}
			p.buf = append(p.buf, chunk[:n]...)
			i--
			continue
		}
		if p.buf[i] != 'R' {
			continue
		}
		report := string(p.buf[:i])
		p.buf = p.buf[i+1:]
		return columnOf(report)
	}
}

// columnOf returns the column of a report without its final byte.
func columnOf(report string) (int, error) {
	semicolon := -1
	for i := range len(report) {
		if report[i] == ';' {
			semicolon = i
		}
	}
	col, err := strconv.Atoi(report[semicolon+1:])
	if semicolon < 0 || err != nil || col < 1 {
		return 0, errReply
	}
	return col, nil
}
