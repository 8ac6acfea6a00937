package tmux

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// systemd decides where a tmux server is placed, and says where a running one is. systemd ends what is left in the
// control group of a service that stops, and with KillUserProcesses=yes of a login session that ends; a scope of its
// own keeps the server out of both. A user's scopes live only as long as the user's manager: without lingering they
// end at the last logout, so then the server stays where it is.
type systemd struct {
	running  bool   // systemd is PID 1
	run      string // systemd-run, "" without it
	loginctl string // "" without it
	uid      int
	env      []string // for the tools
	cgroup   func(pid int) (string, error)
	linger   func(user string) bool
}

// toolTimeout bounds each question to systemd.
const toolTimeout = 5 * time.Second

func findSystemd(env []string) systemd {
	info, err := os.Stat("/run/systemd/system") // sd_booted(3)
	return systemd{
		running:  err == nil && info.IsDir(),
		run:      search("systemd-run", env),
		loginctl: search("loginctl", env),
		uid:      os.Getuid(),
		env:      env,
		cgroup:   readCgroup,
		linger: func(user string) bool {
			_, err := os.Stat("/var/lib/systemd/linger/" + user) // where logind keeps it
			return err == nil
		},
	}
}

// start runs argv, which puts a server into the background and ends, with env and nothing else. Without a scope the
// server gets a session of its own from tmux's daemon(3), which is all that can be done.
func (d systemd) start(ctx context.Context, argv, env []string, log *slog.Logger) error {
	if scope := d.scope(); scope != nil {
		// systemd-run hands its own environment on, hence env -i.
		full := append(append(scope, "/usr/bin/env", "-i"), env...)
		err := d.command(ctx, append(full, argv...), d.toolEnv(), log)
		if err == nil {
			return nil
		}
		log.Warn("tmux server not started in a scope", "err", err)
	}
	return d.command(ctx, argv, env, log)
}

// scope returns the beginning of a command that runs the rest in a scope of its own; nil where that does not help.
func (d systemd) scope() []string {
	if !d.running || d.run == "" {
		return nil
	}
	base := []string{d.run, "--scope", "--quiet", "--collect", "--description=Corral's terminal sessions"}
	if d.uid == 0 {
		return append(base, "--")
	}
	if user := value(d.env, "USER"); user != "" && d.linger(user) {
		return append(append(base, "--user"), "--")
	}
	return nil
}

// toolEnv is what systemd's tools need to find the user's manager.
func (d systemd) toolEnv() []string {
	dir := "/run/user/" + strconv.Itoa(d.uid)
	return append([]string{"XDG_RUNTIME_DIR=" + dir, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + dir + "/bus"}, d.env...)
}

func (d systemd) command(ctx context.Context, argv, env []string, log *slog.Logger) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Dir = "/" // the server must not hold a directory busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	log.Debug("tmux spawned", "name", "start-server")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	return nil
}

// placed says where process pid is (unit, scope or session) and whether it survives the user's logout.
func (d systemd) placed(ctx context.Context, pid int) (placement, survives string) {
	if !d.running {
		return "session", "true" // nobody ends what a login leaves behind
	}
	group, err := d.cgroup(pid)
	if err != nil {
		return "session", "unknown"
	}
	leaf := path.Base(group)
	underUser := strings.Contains(group, "/user@")
	switch {
	case strings.HasPrefix(leaf, "session-") && strings.HasSuffix(leaf, ".scope"):
		return "session", d.sessionSurvives(ctx)
	case strings.HasSuffix(leaf, ".scope"):
		placement = "scope"
	case strings.HasSuffix(leaf, ".service"):
		placement = "unit"
	default:
		return "session", "unknown"
	}
	if !underUser {
		return placement, "true"
	}
	if d.linger(value(d.env, "USER")) {
		return placement, "true"
	}
	return placement, "false"
}

// sessionSurvives asks logind whether it kills what a login session leaves behind.
func (d systemd) sessionSurvives(ctx context.Context) string {
	if d.loginctl == "" {
		return "unknown"
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	// Without a session's name show-session prints the manager's own properties (loginctl(1)).
	cmd := exec.CommandContext(ctx, d.loginctl, "show-session", "--property=KillUserProcesses", "--value")
	cmd.Env = d.toolEnv()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	switch strings.TrimSpace(string(out)) {
	case "no":
		return "true"
	case "yes":
		return "false"
	}
	return "unknown"
}

// readCgroup returns the control group of a process in the unified hierarchy, or in systemd's own where there are
// several.
func readCgroup(pid int) (string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", fmt.Errorf("read the control group of process %d: %w", pid, err)
	}
	group := ""
	for l := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(l), ":", 3)
		if len(parts) == 3 && (parts[0] == "0" && group == "" || parts[1] == "name=systemd") {
			group = parts[2]
		}
	}
	return group, nil
}
