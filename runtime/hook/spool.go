package hook

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Spooled is a post that waits for a runtime, in a file of its own.
type Spooled struct {
	Token string          `json:"token"`
	Post  json.RawMessage `json:"post"` // a rtapi.HookPost
}

// spoolSuffix ends the names of complete files. They begin with the time, so that their order is the posts'.
const spoolSuffix = ".json"

// keep writes a post into the spool. The rename makes it whole or absent.
func keep(dir, token string, body []byte, at time.Time) error {
	b, err := json.Marshal(Spooled{Token: token, Post: body})
	if err != nil {
		return err
	}
	dir = SpoolDir(dir)
	makeRoom(dir)
	path := filepath.Join(dir, fmt.Sprintf("%019d-%s", at.UnixNano(), rand.Text()[:8]))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return err
	}
	return os.Rename(path, path+spoolSuffix)
}

// makeRoom removes the oldest posts of a spool that nobody empties.
func makeRoom(dir string) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return
	}
	for i := 0; i <= len(entries)-maxSpool; i++ {
		_ = os.Remove(filepath.Join(dir, entries[i].Name())) // somebody else may have done it
	}
}

// ReadSpool returns the names of the posts in the hooks' directory dir, oldest first.
func ReadSpool(dir string) ([]string, error) {
	entries, err := os.ReadDir(SpoolDir(dir))
	if err != nil {
		return nil, fmt.Errorf("read the hooks' spool: %w", err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == spoolSuffix {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Take reads and removes one post.
func Take(dir, name string) (Spooled, error) {
	path := filepath.Join(SpoolDir(dir), name)
	b, err := os.ReadFile(path)
	if rerr := os.Remove(path); err == nil && rerr != nil {
		err = rerr // it would be taken again
	}
	if err != nil {
		return Spooled{}, fmt.Errorf("take a spooled hook: %w", err)
	}
	var s Spooled
	if err := json.Unmarshal(b, &s); err != nil {
		return Spooled{}, fmt.Errorf("take a spooled hook: %w", err)
	}
	return s, nil
}
