package tmux

import (
	"context"
	"fmt"
	"strings"

	"corral/runtime/internal/procfs"
)

// Inspection is what a runtime would find of tmux.
type Inspection struct {
	Binary  string // path of tmux
	Version string // as 3.3a
	PID     int    // the recorded server, if it lives; 0 otherwise
	// Wrong names the options of the running server that are not as Corral sets them.
	Wrong []string
	// Placement and SurvivesLogout say where the running server is, or would be, and whether it outlives a logout.
	Placement, SurvivesLogout string
	// CanLinger is true where `loginctl enable-linger` would make the server outlive a logout.
	CanLinger bool
}

// Inspect says what a runtime with this configuration would find, and returns the error with which it would refuse. It
// starts no server and changes nothing in one.
func Inspect(ctx context.Context, cfg Config) (Inspection, error) {
	s, err := New(ctx, cfg)
	if err != nil {
		return Inspection{}, err
	}
	out, err := s.spawn(ctx, "-V")
	if err != nil {
		return Inspection{}, err
	}
	found := Inspection{
		Binary: s.binary, Version: strings.TrimPrefix(strings.TrimSpace(string(out)), "tmux "),
		CanLinger: s.systemd.running && s.systemd.uid != 0,
	}
	if s.state.Server.PID == 0 || !procfs.Alive(s.state.Server) {
		found.Placement, found.SurvivesLogout = s.systemd.wouldPlace(ctx)
		return found, nil
	}
	found.PID = s.state.Server.PID
	found.Placement, found.SurvivesLogout = s.systemd.placed(ctx, found.PID)
	found.Wrong, err = s.wrongOptions(ctx, s.state.Socket)
	return found, err
}

// wouldPlace says where a server that is started now would be.
func (d systemd) wouldPlace(ctx context.Context) (placement, survives string) {
	switch {
	case !d.running:
		return "session", "true"
	case d.scope() != nil:
		return "scope", "true"
	}
	return "session", d.sessionSurvives(ctx)
}

// wrongOptions compares the options of the running server with ours. Options that this tmux does not know are not
// listed by it, and pass, as they do when they are set.
func (s *Server) wrongOptions(ctx context.Context, socket string) ([]string, error) {
	has := map[string]string{}
	for _, scope := range []string{"-s", "-g", "-gw"} {
		out, err := s.spawn(ctx, "-u", "-N", "-S", socket, "show-options", scope)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			has[name] = strings.Trim(value, `"'`)
		}
	}
	var wrong []string
	for _, c := range options(s.cfg.HistoryLimit) {
		if c[0] != "set-option" {
			continue
		}
		name, want := c[2], c[3]
		if value, known := has[name]; known && value != want {
			wrong = append(wrong, fmt.Sprintf("%s is %q, not %q", name, value, want))
		}
	}
	return wrong, nil
}
