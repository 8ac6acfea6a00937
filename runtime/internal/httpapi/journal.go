package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
)

// Journals reads and removes the records of sessions, living or not.
type Journals interface {
	// Read yields records; with follow also those to come, until ctx ends.
	Read(ctx context.Context, id string, q journal.Query, follow bool, yield func(*journal.Record) error) error
	Remove(ctx context.Context, id string) error
}

// journalTimeout is how long a reader may leave a record unread.
const journalTimeout = 30 * time.Second

func (a api) removeJournal(r *http.Request) (any, error) {
	return nil, a.Journals.Remove(r.Context(), r.PathValue("id"))
}

// journal writes one line of JSON per record.
func (a api) journal(w http.ResponseWriter, r *http.Request) {
	q, follow, err := journalQuery(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	if follow {
		_ = out.Flush() // there may be nothing for long
	}
	err = a.Journals.Read(r.Context(), r.PathValue("id"), q, follow, func(rec *journal.Record) error {
		if err := out.SetWriteDeadline(time.Now().Add(journalTimeout)); err != nil {
			return fmt.Errorf("write a record: %w", err)
		}
		if err := lines.Encode(rec); err != nil {
			return fmt.Errorf("write a record: %w", err)
		}
		if follow {
			return out.Flush()
		}
		return nil
	})
	var none *rtapi.Error
	if errors.As(err, &none) { // before anything was sent
		a.refuse(w, r, err)
		return
	}
	if err != nil && r.Context().Err() == nil {
		a.Log.Warn("journal not read to its end", "id", r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler) // a cut, so that what was sent is not taken for all
	}
}

func journalQuery(r *http.Request) (q journal.Query, follow bool, err error) {
	values := r.URL.Query()
	invalid := func(name, wants string) error {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%s must be %s, not %q", name, wants, values.Get(name))}
	}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := values.Get(name); text != "" {
			if *to, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return q, false, invalid(name, "a time as 2006-01-02T15:04:05Z")
			}
		}
	}
	if text := values.Get("after"); text != "" {
		if q.After, err = strconv.ParseInt(text, 10, 64); err != nil || q.After < 0 {
			return q, false, invalid("after", "a sequence")
		}
	}
	for _, k := range values["kind"] {
		if !slices.Contains(journal.Kinds(), journal.Kind(k)) {
			return q, false, invalid("kind", fmt.Sprintf("one of %v", journal.Kinds()))
		}
		q.Kinds = append(q.Kinds, journal.Kind(k))
	}
	return q, values.Get("follow") == "true", nil
}
