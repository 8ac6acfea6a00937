package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"corral/runtime/hook"
	"corral/runtime/rtapi"
)

const (
	// AgentVerb is the verb of the step between the login shell and an agent.
	AgentVerb = "agent"
	// versionTimeout bounds asking an agent for its version; it takes 0.1 s.
	versionTimeout = 5 * time.Second
	// programSize is what an agent's own program exceeds: 10 MB of JavaScript, 400 MB of a binary. A smaller file only
	// calls another one, which may change without it.
	programSize = 1 << 20
)

// ExecAgent becomes the agent of argv, in which rtapi.SettingsFile stands for settings that make it run `self hook dir`.
// It runs inside the login shell of the session: only there is it known which agent the user's PATH means. Like Exec it
// returns only when it could not, with the exit status to end with.
func ExecAgent(dir, self string, argv []string) int {
	if len(argv) == 0 {
		return statusNotFound
	}
	file, err := exec.LookPath(argv[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "corral: %s is not in your PATH\n", argv[0])
		return statusNotFound
	}
	argv, err = withSettings(dir, self, file, argv)
	if err == nil {
		err = syscall.Exec(file, argv, os.Environ())
	}
	fmt.Fprintf(os.Stderr, "corral: %s cannot be started: %v\n", argv[0], err)
	if errors.Is(err, fs.ErrNotExist) {
		return statusNotFound
	}
	return statusNotExecutable
}

// withSettings puts the settings file into argv. Settings that the user gave are taken into it, since an agent heeds only
// the last it is given; such as cannot be read are left to the agent, which says so better.
func withSettings(dir, self, file string, argv []string) ([]string, error) {
	at := slices.Index(argv, rtapi.SettingsFile)
	if at < 1 {
		return argv, nil
	}
	users, rest := takeSettings(argv[at+1:])
	path, err := hook.Settings(dir, self, version(dir, file), users)
	if err != nil && users != "" {
		return slices.Concat(argv[:at-1], argv[at+1:]), nil
	}
	if err != nil {
		return argv, err
	}
	return slices.Concat(argv[:at], []string{path}, rest), nil
}

// takeSettings takes the last --settings out of a user's arguments. What follows -- is no option.
func takeSettings(args []string) (users string, rest []string) {
	for i := 0; i < len(args); i++ {
		value, joined := strings.CutPrefix(args[i], "--settings=")
		switch {
		case args[i] == "--":
			return users, append(rest, args[i:]...)
		case joined:
			users = value
		case args[i] == "--settings" && i+1 < len(args):
			users = args[i+1]
			i++
		default:
			rest = append(rest, args[i])
		}
	}
	return users, rest
}

// version asks the agent in file for its version, once per program as it is now.
func version(dir, file string) hook.Version {
	cache := cacheName(dir, file)
	if b, err := os.ReadFile(cache); cache != "" && err == nil {
		return hook.ParseVersion(string(b))
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "--version")
	cmd.WaitDelay = time.Second // for a child of it that keeps its output open
	out, err := cmd.Output()
	if err != nil {
		return hook.Version{} // not kept: it may be able to tell the next time
	}
	v := hook.ParseVersion(string(out))
	if cache != "" && os.MkdirAll(filepath.Dir(cache), 0o700) == nil {
		_ = os.WriteFile(cache, []byte(v.String()+"\n"), 0o600) // without it the next start asks again
	}
	return v
}

// cacheName is where the version of an agent is kept, which changes when its program does; "" when it is not kept.
func cacheName(dir, file string) string {
	program, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil || info.Size() < programSize {
		return ""
	}
	name := fmt.Sprintf("%s %d %d", program, info.Size(), info.ModTime().UnixNano())
	return filepath.Join(dir, "settings", "version-"+hook.Sum(name))
}
