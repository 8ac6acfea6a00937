package hook

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"corral/runtime/rtapi"
)

const (
	// limit is how long an agent may be kept waiting in all. What was not sent in time is spooled; what was not read in
	// time cannot even be that, so reading has longer.
	limit   = 300 * time.Millisecond
	forSend = 220 * time.Millisecond
	forRead = 280 * time.Millisecond
	// maxInput bounds what an agent may say; a tool's result can be as large as a file.
	maxInput = 16 << 20
	// maxAncestors bounds the way up to the pane's process: a shell and some wrappers.
	maxAncestors = 16
	// maxSpool is how many posts wait for a runtime; then the oldest go.
	maxSpool = 2000
)

// Run is `corral hook DIR`: it reads what an agent tells on input and gives it to the runtime whose hooks' directory is
// dir, or to the spool. environ is the part of the environment that it needs, as K=V. It never fails: an agent would show
// that to its user, or stop.
func Run(dir string, input *os.File, environ []string) { run(dir, input, environ, forRead, forSend) }

// run is Run with other times for reading and sending.
func run(dir string, input *os.File, environ []string, forRead, forSend time.Duration) {
	begun := time.Now()
	env := variables(environ)
	token := env(TokenVariable)
	if token == "" {
		return // not a session of ours
	}
	input = timed(input, begun.Add(forRead))
	event, err := read(io.LimitReader(input, maxInput))
	if err != nil {
		return // nothing was said, or nothing that could be understood
	}
	post := rtapi.HookPost{
		ID: rand.Text(), At: begun.UTC(), Pane: env("TMUX_PANE"), Ancestors: ancestors(os.Getppid()),
		Background: env("CLAUDE_JOB_DIR") != "", ConfigDir: configDir(env), Event: event,
	}
	post.AgentPID, _ = strconv.Atoi(env("CLAUDE_PID")) // 0 when the agent is too old to tell
	body, err := json.Marshal(post)
	if err != nil {
		return
	}
	if send(dir, token, body, begun.Add(forSend)) != nil {
		_ = keep(dir, token, body, begun) // nobody could be told
	}
}

// Variables are the names in the environment that Run looks at.
func Variables() []string {
	return []string{TokenVariable, "TMUX_PANE", "CLAUDE_PID", "CLAUDE_JOB_DIR", "CLAUDE_CONFIG_DIR", "HOME"}
}

// timed returns input as a file that is not read longer than until deadline: an agent that keeps its end open must not
// keep us. Standard input has to be made one that can be waited for; what is no pipe cannot, and never blocks for long.
func timed(input *os.File, deadline time.Time) *os.File {
	if input.SetReadDeadline(deadline) == nil {
		return input
	}
	fd, err := syscall.Dup(int(input.Fd()))
	if err != nil {
		return input
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return input
	}
	again := os.NewFile(uintptr(fd), input.Name())
	_ = again.SetReadDeadline(deadline)
	return again
}

func variables(environ []string) func(string) string {
	return func(name string) string {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// configDir is where Claude Code keeps its configuration.
func configDir(env func(string) string) string {
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}

// ancestors are pid, its parent and so on up to init. The program's name in stat(5) may hold anything, so the fields are
// counted from its closing parenthesis: state, then the parent.
func ancestors(pid int) []int {
	var list []int
	for pid > 1 && len(list) < maxAncestors {
		list = append(list, pid)
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			break
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return list
}

// send posts body. A refusal is an answer too: it counts as delivered.
func send(dir, token string, body []byte, deadline time.Time) error {
	socket, err := os.Readlink(filepath.Join(dir, endpoint))
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Deadline: deadline}).Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer says whether it arrived
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	request := fmt.Appendf(nil, "POST /v1/hooks HTTP/1.0\r\nHost: runtime\r\n%s: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
		rtapi.VersionHeader, rtapi.Version, token, len(body))
	if _, err := conn.Write(append(request, body...)); err != nil {
		return err
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if code := strings.Fields(status); len(code) < 2 || strings.HasPrefix(code[1], "5") {
		return fmt.Errorf("the runtime answered %q", status)
	}
	return nil
}
