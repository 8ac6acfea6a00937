// Package backup is the format of a copy of the metadata: what `corral backup` writes and `corral restore` reads.
//
// It is text, one JSON value a line: a header, the rows table by table, and a last line with their number and the
// SHA-256 of every byte before it. A file without that line is no backup, whatever else is in it: it was cut off, or the
// server went away while it was made. Rows are passed through as the database gave them.
//
// The package runs no goroutines and has no locks; a Writer or a Reader belongs to one goroutine.
package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"corral/sessions"
)

const (
	// Format is the version of the format that this package writes. It reads this one only.
	Format = 1

	magic = "metadata backup"
	// maxLine bounds a row: a session's arguments take 128 KiB, escaped six times that.
	maxLine = 4 << 20
)

// Header is the first line.
type Header struct {
	Corral string    `json:"corral"` // always the same words, to know a backup by
	Format int       `json:"format"`
	Schema int       `json:"schema"` // number of the newest migration of the database
	Node   string    `json:"node"`   // the node of the server that made it
	MadeAt time.Time `json:"madeAt"`
}

// Row is one row of a table.
type Row struct {
	Table string          `json:"table"`
	Row   json.RawMessage `json:"row"`
}

type trailer struct {
	Rows   int    `json:"rows"`
	SHA256 string `json:"sha256"`
}

// line is any line but the header: a row, or the last one.
type line struct {
	Row
	End *trailer `json:"end,omitempty"`
}

// Writer writes a backup.
type Writer struct {
	out  *bufio.Writer
	sum  hash.Hash
	rows int
}

// NewWriter writes the header; Corral and Format are filled in.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{out: bufio.NewWriter(w), sum: sha256.New()}
	h.Corral, h.Format = magic, Format
	return out, out.line(h)
}

// Write writes a row.
func (w *Writer) Write(r Row) error {
	w.rows++
	return w.line(r)
}

// Close writes the last line, which makes it a backup. The underlying writer stays open.
func (w *Writer) Close() error {
	end := trailer{Rows: w.rows, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.line(struct {
		End trailer `json:"end"`
	}{end}); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

func (w *Writer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a line of the backup: %w", err)
	}
	text = append(text, '\n')
	w.sum.Write(text)
	if _, err := w.out.Write(text); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// Reader reads a backup. Its errors are *sessions.Error with a sentence about the file, save those of the underlying
// reader.
type Reader struct {
	Header Header

	in   *bufio.Scanner
	sum  hash.Hash
	rows int
}

// NewReader reads the header of a backup.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{in: bufio.NewScanner(r), sum: sha256.New()}
	in.in.Buffer(nil, maxLine)
	text, err := in.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if json.Unmarshal(text, &in.Header) != nil || in.Header.Corral != magic {
		return nil, bad("this is no backup that corral backup made", "give the file that corral backup wrote")
	}
	if in.Header.Format != Format {
		return nil, bad(fmt.Sprintf("the backup has format %d and this corral reads %d", in.Header.Format, Format),
			"use the version of corral that made it")
	}
	return in, nil
}

// Next returns the next row, io.EOF after the last one of a backup that is whole.
func (r *Reader) Next() (Row, error) {
	before := r.sum.Sum(nil)
	text, err := r.next()
	if errors.Is(err, io.EOF) {
		return Row{}, bad("the backup was cut off: its end is missing", "use another one")
	}
	if err != nil {
		return Row{}, err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil || l.End == nil && (l.Table == "" || len(l.Row.Row) == 0) {
		return Row{}, damaged()
	}
	if l.End == nil {
		r.rows++
		return l.Row, nil
	}
	if l.End.Rows != r.rows || l.End.SHA256 != hex.EncodeToString(before) {
		return Row{}, damaged()
	}
	if text, err := r.next(); !errors.Is(err, io.EOF) || len(text) > 0 {
		return Row{}, damaged() // something follows
	}
	return Row{}, io.EOF
}

// next returns the next line without its end.
func (r *Reader) next() ([]byte, error) {
	if !r.in.Scan() {
		switch err := r.in.Err(); {
		case err == nil:
			return nil, io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			return nil, damaged()
		default:
			return nil, fmt.Errorf("read the backup: %w", err)
		}
	}
	text := bytes.Clone(r.in.Bytes())
	r.sum.Write(text)
	r.sum.Write([]byte{'\n'})
	return text, nil
}

// Summary says what is in a backup.
type Summary struct {
	Header
	Rows map[string]int // by table
}

// Check reads a backup to its end.
func Check(r io.Reader) (Summary, error) {
	in, err := NewReader(r)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Header: in.Header, Rows: map[string]int{}}
	for {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.Rows[row.Table]++
	}
}

func damaged() error {
	return bad("the backup is damaged, or was changed after it was made", "use another one")
}

func bad(message, hint string) error {
	return &sessions.Error{Code: sessions.CodeInvalid, Message: message, Hint: hint}
}
