package sessions

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// JournalRecord is one record of a session's journal, a line of GET /v1/sessions/{id}/journal. docs/journal.md says what
// each kind holds.
type JournalRecord struct {
	SessionID ID             `json:"sessionId"`
	Sequence  int64          `json:"sequence"`
	Kind      string         `json:"kind"`
	Payload   string         `json:"payload"`
	Encoding  string         `json:"encoding,omitempty"` // of Payload: empty, or base64 when it is not UTF-8
	Time      time.Time      `json:"timestampUtc"`
	Redacted  bool           `json:"redacted,omitempty"`
	Bytes     int64          `json:"bytes,omitempty"`
	Cols      int            `json:"cols,omitempty"`
	Rows      int            `json:"rows,omitempty"`
	Argv      []string       `json:"argv,omitempty"`
	Code      *int           `json:"code,omitempty"`
	Signal    *int           `json:"signal,omitempty"`
	Name      string         `json:"name,omitempty"`
	Evidence  string         `json:"evidence,omitempty"`
	Why       string         `json:"why,omitempty"`
	ANSI      string         `json:"ansi,omitempty"`
	Cursor    *JournalCursor `json:"cursor,omitempty"`
	Modes     []string       `json:"modes,omitempty"`
	Through   int64          `json:"through,omitempty"`
	Alternate bool           `json:"alternate,omitempty"`
}

// JournalCursor is a place on a screen, from 0.
type JournalCursor struct {
	Row    int `json:"row"`
	Column int `json:"column"`
}

// Data returns the bytes that the payload stands for.
func (r JournalRecord) Data() ([]byte, error) {
	if r.Encoding == "" {
		return []byte(r.Payload), nil
	}
	p, err := base64.StdEncoding.DecodeString(r.Payload)
	if err != nil || r.Encoding != "base64" {
		return nil, fmt.Errorf("decode record %d of %s: encoding %q: %w", r.Sequence, r.SessionID, r.Encoding, err)
	}
	return p, nil
}

// JournalQuery says which records are wanted; the zero value wants all there are.
type JournalQuery struct {
	After        int64     // sequence
	Since, Until time.Time // both included; zero for no limit
	Kinds        []string
	Follow       bool // go on with those to come
}

// Encode returns q as the query of a URL.
func (q JournalQuery) Encode() string {
	v := url.Values{}
	if q.After > 0 {
		v.Set("after", strconv.FormatInt(q.After, 10))
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		v.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	for _, k := range q.Kinds {
		v.Add("kind", k)
	}
	if q.Follow {
		v.Set("follow", "true")
	}
	return v.Encode()
}
