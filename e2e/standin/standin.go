package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	"corral/e2e/program"
	posts "corral/runtime/hook"
)

// Verb makes a test binary the stand-in.
const Verb = "standin-claude"

// Newest is the version that it is unless told otherwise.
const Newest = "2.1.332"

// Prompt is on its screen while it takes a prompt.
const Prompt = "standin>"

// Install puts a program called claude, which is this test binary, into dir.
func Install(t testing.TB, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	program.Write(t, filepath.Join(dir, "claude"), []byte("#!/bin/sh\nexec '"+self+"' "+Verb+" \"$@\"\n"))
}

// agent is one life of the stand-in.
type agent struct {
	version   posts.Version
	hooks     map[string][]string // commands by event
	faults    []string
	configDir string
	cwd       string
	id        string
	start     time.Time
	procStart string
	keys      chan byte
	typed     string // what of the next line has come
	queue     []string
	late      sync.WaitGroup
	wake      chan func()
}

// Main is the stand-in with its arguments; it returns the exit status.
func Main(args []string) int {
	a := &agent{keys: make(chan byte, 4096), wake: make(chan func(), 16), start: time.Now(), version: posts.ParseVersion(Newest)}
	if v := os.Getenv("STANDIN_VERSION"); v != "" {
		a.version = posts.ParseVersion(v)
	}
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintf(os.Stdout, "%v (Claude Code)\n", a.version)
		return 0
	}
	a.record(args)
	if code, err := strconv.Atoi(os.Getenv("STANDIN_FAIL")); err == nil {
		return code
	}
	if list := os.Getenv("STANDIN_FAULT"); list != "" {
		a.faults = strings.Split(list, ",")
	}
	a.configDir = os.Getenv("CLAUDE_CONFIG_DIR")
	if a.configDir == "" {
		a.configDir = filepath.Join(os.Getenv("HOME"), ".claude")
	}
	a.cwd, _ = os.Getwd() // it is there: the shell was in it
	stat, _ := os.ReadFile("/proc/self/stat")
	a.procStart = strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19] // field 22
	source, code := a.options(args)
	if code != 0 {
		return code
	}
	restore, err := a.raw()
	if err != nil {
		return a.fail("stdin is no terminal")
	}
	defer restore()
	return a.live(source)
}

func (a *agent) fail(text string) int {
	fmt.Fprintln(os.Stdout, text)
	return 1
}

// record writes down a start.
func (a *agent) record(args []string) {
	path := os.Getenv("STANDIN_LOG")
	if path == "" {
		return
	}
	cwd, _ := os.Getwd()
	line, _ := json.Marshal(map[string]any{"argv": args, "pid": os.Getpid(), "cwd": cwd})
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, _ = f.Write(append(line, '\n'))
		_ = f.Close()
	}
}

// options reads the arguments, and ends what the real program would not start.
func (a *agent) options(args []string) (source string, code int) {
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--session-id", "--resume", "--settings", "--permission-mode", "--model":
			if i+1 < len(args) {
				given[args[i]] = args[i+1]
				i++
			}
		default:
			given[args[i]] = "yes"
		}
	}
	if file := given["--settings"]; file != "" {
		if err := a.settings(file); err != nil {
			return "", a.fail("Error: Settings file not found: " + file)
		}
	}
	a.id, source = newID(), "startup"
	switch {
	case given["--resume"] != "":
		a.id, source = given["--resume"], "resume"
		if a.transcriptOf(a.id) == "" {
			a.fire("SessionEnd", map[string]any{"reason": "other"})
			return "", a.fail("No conversation found with session ID: " + a.id)
		}
		if given["--fork-session"] != "" {
			a.fork()
			source = "fork"
		}
	case given["--continue"] != "":
		if a.id, source = a.newest(), "resume"; a.id == "" {
			return "", a.fail("No conversation found to continue")
		}
	case given["--session-id"] != "":
		a.id = given["--session-id"]
		if len(a.id) != 36 {
			return "", a.fail("Error: Invalid session ID. Must be a valid UUID.")
		}
		if a.transcriptOf(a.id) != "" {
			return "", a.fail("Error: Session ID " + a.id + " is already in use.")
		}
	}
	return source, 0
}

// settings reads the hooks. A name that the version does not know brings up a dialog, in which the whole program waits.
func (a *agent) settings(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	a.hooks = map[string][]string{}
	for name, matchers := range s.Hooks {
		if !a.knows(name) {
			fmt.Fprintf(os.Stdout, "Settings Warning: unknown event %s\n", name)
			select {} // until it is killed
		}
		for _, m := range matchers {
			for _, h := range m.Hooks {
				a.hooks[name] = append(a.hooks[name], h.Command)
			}
		}
	}
	return nil
}

func (a *agent) knows(event string) bool {
	switch event {
	case "PermissionRequest", "PostToolUseFailure", "SubagentStart":
		return a.since(2, 0, 75)
	case "StopFailure":
		return a.since(2, 1, 80)
	case "PostToolBatch", "PostCompact":
		return a.since(2, 1, 131)
	case "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop", "PreCompact":
		return true
	}
	return false
}

func (a *agent) since(v ...int) bool {
	for i := range v {
		if a.version[i] != v[i] {
			return a.version[i] > v[i]
		}
	}
	return true
}

// raw gives every key at once, as the real program wants them.
func (a *agent) raw() (restore func(), err error) {
	old, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	set := *old
	set.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	set.Iflag &^= unix.ICRNL
	if err := unix.IoctlSetTermios(0, unix.TCSETS, &set); err != nil {
		return nil, err
	}
	go func() {
		buf := make([]byte, 1)
		for {
			if n, err := os.Stdin.Read(buf); err != nil || n == 0 {
				return
			}
			a.keys <- buf[0]
		}
	}()
	return func() { _ = unix.IoctlSetTermios(0, unix.TCSETS, old) }, nil
}

// fire runs the hooks of an event and waits for them, as the real program does.
func (a *agent) fire(event string, fields map[string]any) {
	if fields == nil {
		fields = map[string]any{}
	}
	id := a.id
	fields["hook_event_name"], fields["session_id"], fields["cwd"] = event, id, a.cwd
	fields["transcript_path"] = a.transcriptPath(id)
	if _, ok := fields["stray"]; ok {
		fields["session_id"] = newID()
	}
	input, _ := json.Marshal(fields) // of strings alone
	times, delay := 1, time.Duration(0)
	for _, f := range a.faults {
		part := strings.Split(f, ":")
		if len(part) < 2 || part[1] != event {
			continue
		}
		switch part[0] {
		case "lose":
			return
		case "twice":
			times = 2
		case "slow":
			ms, _ := strconv.Atoi(part[2])
			delay = time.Duration(ms) * time.Millisecond
		}
	}
	for range times {
		for _, command := range a.hooks[event] {
			if delay == 0 {
				a.hook(command, input, 0)
				continue
			}
			a.late.Go(func() { a.hook(command, input, delay) })
		}
	}
}

// hook runs one hook command: a shell in a session of its own, without a terminal.
func (a *agent) hook(command string, input []byte, delay time.Duration) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir = a.cwd
	cmd.Env = append(os.Environ(), "CLAUDE_PID="+strconv.Itoa(os.Getpid()), "CLAUDE_CODE_SESSION_ID="+a.id,
		"CLAUDE_PROJECT_DIR="+a.cwd, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	<-time.After(delay)
	_, _ = stdin.Write(input) // a hook need not read it
	_ = stdin.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		fmt.Fprintf(os.Stdout, "hook failed: %v\r\n", err)
	}
}

// status writes the session file, in place.
func (a *agent) status(status, waitingFor string) {
	if !a.since(2, 1, 131) {
		return
	}
	dir := filepath.Join(a.configDir, "sessions")
	_ = os.MkdirAll(dir, 0o700)
	now := time.Now().UnixMilli()
	b, _ := json.Marshal(map[string]any{
		"pid": os.Getpid(), "sessionId": a.id, "cwd": a.cwd, "startedAt": a.start.UnixMilli(), "procStart": a.procStart,
		"version": a.version.String(), "kind": "interactive", "entrypoint": "cli", "status": status, "waitingFor": waitingFor,
		"updatedAt": now, "statusUpdatedAt": now,
	})
	f, err := os.OpenFile(a.statusPath(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return
	}
	half := len(b) / 2 // a reader may meet half a file
	_, _ = f.Write(b[:half])
	_, _ = f.Write(b[half:])
	_ = f.Close()
}

func (a *agent) statusPath() string {
	return filepath.Join(a.configDir, "sessions", strconv.Itoa(os.Getpid())+".json")
}

// project is the name of the directory's folder: every UTF-16 unit that is no letter or digit of ASCII is a dash.
func project(cwd string) string {
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		real = cwd
	}
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(real)) {
		if u < 128 && (u >= '0' && u <= '9' || u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

func (a *agent) transcriptPath(id string) string {
	return filepath.Join(a.configDir, "projects", project(a.cwd), id+".jsonl")
}

// transcriptOf finds a conversation's file, from any directory where the version does.
func (a *agent) transcriptOf(id string) string {
	pattern := a.transcriptPath(id)
	if a.since(2, 1, 332) {
		pattern = filepath.Join(a.configDir, "projects", "*", id+".jsonl")
	}
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0]
	}
	return ""
}

// newest is the conversation of this directory that was written last.
func (a *agent) newest() string {
	found, _ := filepath.Glob(a.transcriptPath("*"))
	id, at := "", time.Time{}
	for _, f := range found {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(at) {
			id, at = strings.TrimSuffix(filepath.Base(f), ".jsonl"), info.ModTime()
		}
	}
	return id
}

// write appends a line to the transcript, which is made by the first.
func (a *agent) write(fields map[string]any) {
	path := a.transcriptOf(a.id)
	if path == "" {
		path = a.transcriptPath(a.id)
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	fields["sessionId"], fields["cwd"], fields["version"] = a.id, a.cwd, a.version.String()
	fields["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	line, _ := json.Marshal(fields)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, _ = f.Write(append(line, '\n'))
		_ = f.Close()
	}
}

func (a *agent) say(role, text string) {
	a.write(map[string]any{"type": role, "message": map[string]any{"role": role, "content": []any{map[string]any{"type": "text", "text": text}}}})
	fmt.Fprintf(os.Stdout, "%s\r\n", text)
}

// signals ends the stand-in as the real program ends.
func (a *agent) signals() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	return c
}
