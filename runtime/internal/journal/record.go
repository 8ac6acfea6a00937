package journal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind says what a record is about.
type Kind string

// The kinds.
const (
	Input    Kind = "input"    // bytes for the program
	Output   Kind = "output"   // bytes of the program
	Resize   Kind = "resize"   // the terminal has another size
	Start    Kind = "start"    // a program was started
	Exit     Kind = "exit"     // it ended
	Attach   Kind = "attach"   // somebody has come to the session
	Detach   Kind = "detach"   // or left it
	Hook     Kind = "hook"     // an agent told something
	Gap      Kind = "gap"      // something is missing here
	Snapshot Kind = "snapshot" // what the screen shows
)

// Kinds are all kinds.
func Kinds() []Kind {
	return []Kind{Input, Output, Resize, Start, Exit, Attach, Detach, Hook, Gap, Snapshot}
}

// base64Encoding marks a payload that is not UTF-8.
const base64Encoding = "base64"

// Record is one line of a journal. Sequence and Time are given by the Writer.
type Record struct {
	SessionID string    `json:"sessionId"`
	Sequence  int64     `json:"sequence"`
	Kind      Kind      `json:"kind"`
	Payload   string    `json:"payload"` // input and output; see Data
	Time      time.Time `json:"timestampUtc"`
	Details
}

// Details are what only some kinds have.
type Details struct {
	Encoding  string   `json:"encoding,omitempty"` // of Payload: empty, or base64 when it is not UTF-8
	Redacted  bool     `json:"redacted,omitempty"` // input: a password, of which only the length is kept
	Bytes     int64    `json:"bytes,omitempty"`    // of what was redacted, or is missing in a gap as far as is known
	Cols      int      `json:"cols,omitempty"`     // resize, start, snapshot
	Rows      int      `json:"rows,omitempty"`
	Argv      []string `json:"argv,omitempty"` // start
	Code      *int     `json:"code,omitempty"` // exit
	Signal    *int     `json:"signal,omitempty"`
	Name      string   `json:"name,omitempty"` // hook
	Evidence  string   `json:"evidence,omitempty"`
	Why       string   `json:"why,omitempty"`  // gap
	ANSI      string   `json:"ansi,omitempty"` // snapshot: the rows, separated by LF
	Cursor    *Cursor  `json:"cursor,omitempty"`
	Modes     []string `json:"modes,omitempty"`
	Through   int64    `json:"through,omitempty"` // the last sequence whose output the snapshot shows
	Alternate bool     `json:"alternate,omitempty"`
}

// Cursor is a place on the screen, from 0.
type Cursor struct {
	Row    int `json:"row"`
	Column int `json:"column"`
}

// SetData makes p the payload.
func (r *Record) SetData(p []byte) {
	if utf8.Valid(p) {
		r.Payload, r.Encoding = string(p), ""
		return
	}
	r.Payload, r.Encoding = base64.StdEncoding.EncodeToString(p), base64Encoding
}

// Data returns the bytes that the payload stands for.
func (r *Record) Data() ([]byte, error) {
	switch r.Encoding {
	case "":
		return []byte(r.Payload), nil
	case base64Encoding:
		p, err := base64.StdEncoding.DecodeString(r.Payload)
		if err != nil {
			return nil, fmt.Errorf("decode record %d: %w", r.Sequence, err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("decode record %d: unknown encoding %q", r.Sequence, r.Encoding)
}

// appendLine appends r as a line. What every record has is written by hand: with encoding/json the worker would spend
// most of its time on escapes.
func appendLine(b []byte, r *Record) ([]byte, error) {
	b = append(b, `{"sessionId":`...)
	b = appendString(b, r.SessionID)
	b = append(b, `,"sequence":`...)
	b = strconv.AppendInt(b, r.Sequence, 10)
	b = append(b, `,"kind":`...)
	b = appendString(b, string(r.Kind))
	b = append(b, `,"timestampUtc":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","payload":`...)
	b = appendString(b, r.Payload)
	if plain := r.Details.Encoding == "" && (r.Kind == Output || r.Kind == Input && !r.Redacted); !plain {
		details, err := json.Marshal(r.Details)
		if err != nil {
			return b, fmt.Errorf("encode a record: %w", err)
		}
		if len(details) > len("{}") {
			b = append(b, ',')
			b = append(b, details[1:len(details)-1]...)
		}
	}
	return append(b, '}', '\n'), nil
}

// appendString appends s, valid UTF-8 or made so, as a JSON string (RFC 8259, section 7).
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[from:i]...)
				b = append(b, "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// parseLine reads a line. What is no record of a journal is no record.
func parseLine(line []byte) (Record, bool) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil || r.Sequence < 1 || r.Kind == "" {
		return Record{}, false
	}
	return r, true
}
