package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"corral/runtime/rtapi"
)

// startTimeout bounds the start of a server: fork, exec and reading a small file, on a machine that may be loaded.
// It is dialTimeout's size for the same reason.
const startTimeout = dialTimeout

// start starts a new server with an empty environment plus the allow-list, in a scope of its own where that helps.
func (s *Server) start(ctx context.Context) error {
	if err := mkSocketDir(s.cfg.Socket); err != nil {
		return err
	}
	if err := writeConfig(s.cfg.ConfPath, s.cfg.HistoryLimit); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	argv := []string{s.binary, "-u", "-S", s.cfg.Socket, "-f", s.cfg.ConfPath, "start-server"}
	if err := s.systemd.start(ctx, argv, s.env, s.log); err != nil {
		return fmt.Errorf("start the tmux server: %w", err)
	}
	return nil
}

// allowed picks from env what the tmux server, and so every program in it that starts a login shell of its own, may
// see. TERM is that of the viewers' terminals and of the control clients; panes get default-terminal.
func allowed(env []string) []string {
	out := []string{"TERM=xterm-256color"}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "HOME", name == "PATH", name == "SHELL", name == "USER", name == "LOGNAME", name == "TZ",
			name == "LANG", name == "LANGUAGE", strings.HasPrefix(name, "LC_"):
			out = append(out, kv)
		}
	}
	if value(out, "PATH") == "" {
		out = append(out, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	return out
}

// value returns what env says of name; the last entry counts.
func value(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// lookPath finds tmux by the PATH that was handed in, not by this process's own.
func lookPath(name string, env []string) (string, error) {
	if name == "" {
		name = "tmux"
	}
	if path := search(name, env); path != "" {
		return path, nil
	}
	return "", &rtapi.Error{Code: "invalid", Message: name + " is not installed", Hint: "apt-get install tmux"}
}

// search returns the absolute path of an executable, or "".
func search(name string, env []string) string {
	if strings.ContainsRune(name, '/') {
		if executable(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
