package tmux

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"corral/runtime/rtapi"
)

// maxEnded is how many former servers are remembered.
const maxEnded = 16

// state is what must be known of the tmux server by the next runtime. Its file's modification time is the last time
// the server was known to be alive.
type state struct {
	Server rtapi.Incarnation `json:"server"` // PID 0: none
	// Socket is where that server listens, which may differ from the configured path when the run directory was
	// changed under it.
	Socket string            `json:"socket,omitempty"`
	Ended  []rtapi.ServerEnd `json:"ended,omitempty"` // newest first
}

func loadState(path string) (st state, knownAt time.Time, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, time.Time{}, nil
	}
	if err != nil {
		return state{}, time.Time{}, fmt.Errorf("read the record of the tmux server: %w", err)
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return state{}, time.Time{}, fmt.Errorf("read the record of the tmux server in %s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return state{}, time.Time{}, fmt.Errorf("read the record of the tmux server: %w", err)
	}
	return st, info.ModTime(), nil
}

// save replaces the file at once, so that a kill or a power cut leaves the old record or the new one.
func (st state) save(path string) error {
	b, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("record the tmux server: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("record the tmux server: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error counts
		return fmt.Errorf("record the tmux server: %w", err)
	}
	return nil
}

func (st *state) end(at time.Time) {
	st.Ended = append([]rtapi.ServerEnd{{Server: st.Server, At: at}}, st.Ended...)
	if len(st.Ended) > maxEnded {
		st.Ended = st.Ended[:maxEnded]
	}
	st.Server, st.Socket = rtapi.Incarnation{}, ""
}
