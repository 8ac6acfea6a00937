package sessionclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"corral/sessions"
)

// Journal calls each with the records of a session that q wants, until there are no more, or with q.Follow until ctx
// ends, or each returns an error.
func (c *Client) Journal(ctx context.Context, id sessions.ID, q sessions.JournalQuery, each func(sessions.JournalRecord) error) error {
	resp, err := c.open(ctx, http.MethodGet, sessionPath(id, "/journal?"+q.Encode()), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var r sessions.JournalRecord
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF) && !q.Follow:
			return nil
		case err != nil:
			return c.transportError(ctx, fmt.Errorf("read the journal of %s: %w", id, err))
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// RemoveKeepingJournal is Remove, but the session's journal stays.
func (c *Client) RemoveKeepingJournal(ctx context.Context, id sessions.ID, force bool) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id, "?keepJournal=true&force="+strconv.FormatBool(force)), nil, nil)
}
