package sessionclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"corral/sessions"
)

// Backup writes a copy of all metadata to w. Only package sessions/backup can tell whether it is whole.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.open(ctx, http.MethodGet, "/v1/backup", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return c.transportError(ctx, fmt.Errorf("read the backup: %w", err))
	}
	return nil
}

// Restore replaces all metadata by those of the backup in r. No terminal is touched.
func (c *Client) Restore(ctx context.Context, r io.Reader) (sessions.Restored, error) {
	var out sessions.Restored
	resp, err := c.send(ctx, http.MethodPost, "/v1/restore", "application/x-ndjson", r)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&out); err != nil {
		return out, c.transportError(ctx, fmt.Errorf("read the answer to the restore: %w", err))
	}
	return out, nil
}
