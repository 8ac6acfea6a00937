package standin

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// fork copies the conversation to another id.
func (a *agent) fork() {
	old := a.transcriptOf(a.id)
	a.id = newID()
	if b, err := os.ReadFile(old); err == nil {
		_ = os.WriteFile(a.transcriptPath(a.id), b, 0o600)
	}
}

// end is why the stand-in ends: an exit status.
type end int

// live is the stand-in from its first screen on.
func (a *agent) live(source string) (code int) {
	defer func() {
		if e, ok := recover().(end); ok {
			code = int(e)
		}
		a.late.Wait()
		_ = os.Remove(a.statusPath())
	}()
	signals := a.signals()
	go func() {
		s := <-signals
		a.wake <- func() { a.stop(s) }
	}()
	if os.Getenv("STANDIN_TRUST") == "ask" {
		fmt.Fprint(os.Stdout, "Do you trust the files in this folder? 1 yes, 2 no\r\n")
		if a.key() != '1' {
			return 1
		}
	}
	a.status("idle", "")
	if source == "resume" && !a.since(2, 0, 75) {
		real := a.id // these tell a throw-away id first
		a.id = newID()
		a.fire("SessionStart", map[string]any{"source": source})
		a.id = real
	} else {
		if source == "resume" && !a.since(2, 1, 131) && a.since(2, 0, 75) {
			a.fire("SubagentStop", map[string]any{"agent_id": "", "stray": true})
		}
		a.fire("SessionStart", map[string]any{"source": source})
	}
	a.show()
	for {
		a.prompt(a.line())
	}
}

// show prints the conversation so far.
func (a *agent) show() {
	f, err := os.Open(a.transcriptOf(a.id))
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l struct {
			Message struct {
				Content []struct{ Text string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &l) == nil && len(l.Message.Content) > 0 {
			fmt.Fprintf(os.Stdout, "%s\r\n", l.Message.Content[0].Text)
		}
	}
}

// stop is what a signal does.
func (a *agent) stop(s os.Signal) {
	a.fire("SessionEnd", map[string]any{"reason": "other"})
	number := 0 // of an interrupt from outside
	if n, ok := s.(syscall.Signal); ok && n != syscall.SIGINT {
		number = 128 + int(n)
	}
	panic(end(number))
}

// key waits for the next key.
func (a *agent) key() byte {
	for {
		select {
		case k := <-a.keys:
			return k
		case do := <-a.wake:
			do()
		}
	}
}

// line waits at the prompt for a line.
func (a *agent) line() string {
	fmt.Fprint(os.Stdout, Prompt+" ")
	for {
		switch k := a.key(); k {
		case '\r', '\n':
			line := a.typed
			a.typed = ""
			fmt.Fprint(os.Stdout, "\r\n")
			return line
		case 0x1b:
		case 3, 4:
			a.fire("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
			panic(end(0))
		default:
			a.typed += string(k)
			fmt.Fprint(os.Stdout, string(k))
		}
	}
}

// prompt does what a line says.
func (a *agent) prompt(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "":
	case "/exit":
		a.fire("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
		panic(end(0))
	case "/clear":
		a.become(newID(), "clear", "clear")
		a.write(map[string]any{"type": "system"}) // the file exists at once
	case "/branch":
		old := a.id
		a.fork()
		next := a.id
		a.id = old
		a.become(next, "resume", "fork")
	case "/resume":
		a.become(rest, "resume", "resume")
		a.show()
	case "/compact":
		a.compact()
	case "/model":
		a.status("waiting", "dialog open")
		for k := a.key(); k != 0x1b && k != '\r'; k = a.key() {
		}
		a.status("idle", "")
	default:
		a.fire("UserPromptSubmit", map[string]any{"prompt": line})
		a.run(line)
	}
}

// become goes on with another conversation.
func (a *agent) become(id, reason, source string) {
	a.fire("SessionEnd", map[string]any{"reason": reason})
	a.id = id
	<-time.After(100 * time.Millisecond)
	a.status("idle", "")
	a.fire("SessionStart", map[string]any{"source": source})
}

func (a *agent) compact() {
	a.status("busy", "")
	a.fire("PreCompact", map[string]any{"trigger": "manual"})
	a.pause(200 * time.Millisecond)
	a.fire("SubagentStop", map[string]any{"agent_id": "", "agent_type": ""})
	a.fire("SessionStart", map[string]any{"source": "compact"})
	a.fire("PostCompact", map[string]any{"trigger": "manual"})
	a.status("idle", "")
}

// run is one turn and those that were typed while it ran.
func (a *agent) run(line string) {
	a.status("busy", "")
	a.say("user", line)
	if !a.steps(line) {
		return // stopped by its user
	}
	for len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		a.write(map[string]any{"type": "queue-operation", "operation": "dequeue"})
		a.say("user", next)
		if !a.steps(next) { // no hook tells that it begins
			return
		}
	}
}

// steps carries out a turn, and reports whether it came to its end.
func (a *agent) steps(line string) bool {
	var steps []string
	if _, rig, ok := strings.Cut(line, "rig:"); ok {
		steps = strings.Split(rig, "|>")
	}
	answer, tasks := "Done.", []any{}
	for _, step := range steps {
		word, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch word {
		case "say":
			answer = rest
		case "slow":
			seconds, _ := strconv.ParseFloat(rest, 64)
			if !a.pause(time.Duration(seconds * float64(time.Second))) {
				return a.interrupted("[Request interrupted by user]")
			}
		case "bash":
			if !a.tool("Bash", map[string]any{"command": rest}, "permission prompt", rest) {
				return a.interrupted("[Request interrupted by user for tool use]")
			}
		case "ask":
			if !a.tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": rest}}}, "input needed", "") {
				return a.interrupted("[Request interrupted by user for tool use]")
			}
		case "plan":
			if !a.tool("ExitPlanMode", map[string]any{"plan": rest}, "permission prompt", "") {
				return a.interrupted("[Request interrupted by user for tool use]")
			}
		case "error":
			a.say("assistant", rest)
			if a.knows("StopFailure") {
				a.fire("StopFailure", map[string]any{"error": "server_error", "last_assistant_message": rest})
			} else {
				a.fire("Stop", nil)
			}
			a.status("idle", "")
			return true
		case "bashbg":
			tasks = append(tasks, map[string]any{"id": "b1", "type": "shell", "status": "running"})
		case "agent":
			seconds, _ := strconv.ParseFloat(rest, 64)
			tasks = append(tasks, map[string]any{"id": "a1", "type": "subagent", "status": "running"})
			a.subagent(time.Duration(seconds * float64(time.Second)))
		}
	}
	a.say("assistant", answer)
	a.fire("Stop", map[string]any{"last_assistant_message": answer, "background_tasks": tasks})
	switch {
	case len(a.queue) > 0: // the file stays busy
	case len(tasks) == 0:
		a.status("idle", "")
	case tasks[0].(map[string]any)["type"] == "shell": //nolint:forcetypeassert // made above
		a.status("shell", "")
	}
	return true
}

// subagent works in the background for a while and then wakes the agent.
func (a *agent) subagent(d time.Duration) {
	a.fire("SubagentStart", map[string]any{"agent_id": "a1", "agent_type": "general-purpose"})
	time.AfterFunc(d, func() {
		a.wake <- func() {
			a.fire("SubagentStop", map[string]any{"agent_id": "a1", "agent_type": "general-purpose"})
			a.fire("UserPromptSubmit", map[string]any{"prompt": "<task-notification>done</task-notification>"})
			a.run("<task-notification>done</task-notification> rig:say sub done")
		}
	})
}

// interrupted ends a turn that its user stopped: no hook says so.
func (a *agent) interrupted(text string) bool {
	a.say("user", text)
	a.queue = nil
	a.status("idle", "")
	return false
}

// tool asks for a tool and runs it; false when the user refuses.
func (a *agent) tool(name string, input map[string]any, waitingFor, command string) bool {
	fields := func() map[string]any {
		return map[string]any{"tool_name": name, "tool_input": input, "tool_use_id": "toolu_1"}
	}
	a.fire("PreToolUse", fields())
	a.status("waiting", waitingFor)
	if a.knows("PermissionRequest") {
		a.fire("PermissionRequest", fields())
	}
	notify := time.AfterFunc(6*time.Second, func() {
		a.wake <- func() {
			n := map[string]any{"message": "Claude needs your permission to use " + name}
			if a.since(2, 0, 75) {
				n["notification_type"] = "permission_prompt"
			}
			a.fire("Notification", n)
		}
	})
	defer notify.Stop()
	fmt.Fprintf(os.Stdout, "Do you want %s? 1 yes, 2 no\r\n", name)
	for answered := false; !answered; {
		switch a.key() {
		case '1':
			answered = true
		case '2', 0x1b:
			return false
		}
	}
	notify.Stop()
	a.status("busy", "")
	if command != "" {
		if !a.shell(command) {
			return false
		}
	}
	a.fire("PostToolUse", fields())
	if a.knows("PostToolBatch") {
		a.fire("PostToolBatch", map[string]any{"tool_calls": []any{}})
	}
	return true
}

// shell runs a tool's command; false when it is interrupted.
func (a *agent) shell(command string) bool {
	cmd := exec.Command("/bin/sh", "-c", command)
	if cmd.Start() != nil {
		return true
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is the tool's answer, which nobody reads
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return true
		case k := <-a.keys:
			if k == 0x1b {
				_ = cmd.Process.Kill()
				<-ended
				return false
			}
		case do := <-a.wake:
			do()
		}
	}
}

// pause is work; false when it is interrupted. What is typed meanwhile goes into the queue.
func (a *agent) pause(d time.Duration) bool {
	over := time.After(d)
	for {
		select {
		case <-over:
			return true
		case do := <-a.wake:
			do()
		case k := <-a.keys:
			switch k {
			case 0x1b:
				return false
			case '\r', '\n':
				a.queue = append(a.queue, a.typed)
				a.fire("UserPromptSubmit", map[string]any{"prompt": a.typed})
				a.write(map[string]any{"type": "queue-operation", "operation": "enqueue"})
				a.typed = ""
			default:
				a.typed += string(k)
			}
		}
	}
}
