package agent

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/runtime/rtapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// sign is a piece of evidence that comes at a moment: a hook, or what a file says.
type sign func(e *evidence)

func hook(at float64, name string, edits ...func(*rtapi.HookEvent)) sign {
	ev := rtapi.HookEvent{Name: name, Text: "text of " + name}
	for _, edit := range edits {
		edit(&ev)
	}
	return func(e *evidence) { e.hook(rtapi.HookPost{At: after(at), Event: ev}) }
}

func file(at float64, status, waitingFor string) sign {
	return func(e *evidence) {
		e.setFile(&sessionFile{Status: status, WaitingFor: waitingFor, StatusUpdatedAt: after(at).UnixMilli()})
	}
}

func transcriptSays(t tail) sign { return func(e *evidence) { e.setTail(t) } }

func tool(name, call string) func(*rtapi.HookEvent) {
	return func(e *rtapi.HookEvent) { e.Tool, e.Call = name, call }
}

func by(agent string) func(*rtapi.HookEvent) {
	return func(e *rtapi.HookEvent) { e.AgentID = agent }
}

func source(s string) func(*rtapi.HookEvent) { return func(e *rtapi.HookEvent) { e.Source = s } }

func notification(kind string) func(*rtapi.HookEvent) {
	return func(e *rtapi.HookEvent) { e.Notification = kind }
}

func subagents(n int) func(*rtapi.HookEvent) { return func(e *rtapi.HookEvent) { e.Subagents = n } }

func TestStatus(t *testing.T) {
	t.Parallel()
	const working, unknown = "works", "unknown"
	tests := []struct {
		name  string
		signs []sign
		at    float64
		want  string  // works, unknown, or what it waits for
		next  float64 // when to look again; 0 for never
		text  string
	}{
		{name: "nothing yet", at: 5, want: unknown, next: 10},
		{name: "nothing for too long", at: 10, want: string(rtapi.ForStart)},
		{name: "started", signs: []sign{hook(1, "SessionStart", source("startup"))}, at: 2, want: "prompt"},
		{name: "a turn", signs: []sign{hook(1, "UserPromptSubmit")}, at: 2, want: working, next: 1 + 1800},
		{name: "a turn that nothing is heard of", signs: []sign{hook(1, "UserPromptSubmit")}, at: 1801, want: unknown},
		{name: "an answer", signs: []sign{hook(1, "UserPromptSubmit"), hook(2, "Stop")}, at: 3, want: "turn ended", text: "text of Stop"},
		{name: "an answer overtaken by its prompt's hook", signs: []sign{hook(2, "Stop"), hook(1, "UserPromptSubmit")}, at: 3, want: "turn ended"},
		{name: "an answer of a subagent", signs: []sign{hook(1, "UserPromptSubmit"), hook(2, "Stop", by("a"))}, at: 3, want: working, next: 1801},
		{name: "an answer while a subagent goes on", signs: []sign{hook(1, "Stop", subagents(1))}, at: 3, want: working, next: 1801},
		{
			name:  "asked",
			signs: []sign{hook(1, "PreToolUse", tool("Bash", "x")), hook(1.2, "PermissionRequest", tool("Bash", "x"))},
			at:    3, want: "permission", text: "text of PermissionRequest",
		},
		{
			name:  "asked, and told so late",
			signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x")), hook(7, "Notification", notification("permission_prompt"))},
			at:    8, want: "permission", text: "text of PermissionRequest",
		},
		{
			name:  "asked, in a version that only notifies",
			signs: []sign{hook(1, "PreToolUse", tool("Bash", "x")), hook(7, "Notification", func(e *rtapi.HookEvent) { e.Text = "Claude needs your permission to use Bash" })},
			at:    8, want: "permission", text: "text of PreToolUse",
		},
		{
			name:  "answered, while another tool's question is open",
			signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x")), hook(2, "PostToolUse", tool("Read", "y"))},
			at:    3, want: "permission",
		},
		{
			name:  "answered",
			signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x")), hook(2, "PostToolUse", tool("Bash", "x"))},
			at:    3, want: working, next: 2 + 1800,
		},
		{
			name:  "asked by a subagent, and not answered by the agent's own work",
			signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x"), by("a")), hook(2, "PostToolUse", tool("Bash", "x"))},
			at:    3, want: "permission",
		},
		{
			name:  "asked by a subagent that has ended",
			signs: []sign{hook(1, "UserPromptSubmit"), hook(2, "PermissionRequest", tool("Bash", "x"), by("a")), hook(3, "SubagentStop", by("a"))},
			at:    4, want: working, next: 1801,
		},
		{name: "a question", signs: []sign{hook(1, "PreToolUse", tool("AskUserQuestion", "x"))}, at: 2, want: "question"},
		{name: "a plan", signs: []sign{hook(1, "PermissionRequest", tool("ExitPlanMode", "x"))}, at: 2, want: "plan approval"},
		{name: "idle", signs: []sign{hook(1, "UserPromptSubmit"), hook(61, "Notification", notification("idle_prompt"))}, at: 62, want: "prompt"},
		{name: "idle after an answer", signs: []sign{hook(1, "Stop"), hook(61, "Notification", notification("idle_prompt"))}, at: 62, want: "turn ended", text: "text of Stop"},
		{
			name:  "compacted by hand",
			signs: []sign{hook(1, "PreCompact", source("manual")), hook(3, "SessionStart", source("compact"))},
			at:    4, want: "prompt",
		},
		{
			name:  "compacted in the middle of a turn",
			signs: []sign{hook(1, "UserPromptSubmit"), hook(2, "PreCompact", source("auto")), hook(3, "SessionStart", source("compact"))},
			at:    4, want: working, next: 1802,
		},

		// Without a session file, the transcript.
		{
			name:  "interrupted, as the transcript says",
			signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x")), transcriptSays(tail{interrupted: after(2)})},
			at:    3, want: "interrupted",
		},
		{
			name:  "interrupted, and prompted again",
			signs: []sign{hook(1, "UserPromptSubmit"), transcriptSays(tail{interrupted: after(2)}), hook(3, "UserPromptSubmit")},
			at:    4, want: working, next: 1803,
		},
		{
			name:  "answered, with a prompt in the queue",
			signs: []sign{hook(1, "Stop"), transcriptSays(tail{queued: 1})},
			at:    3, want: working,
		},
		{
			name:  "the queued turn, which no hook begins",
			signs: []sign{hook(1, "Stop"), transcriptSays(tail{answered: after(2)})},
			at:    3, want: working,
		},

		// With one, it is the authority.
		{name: "file alone", signs: []sign{file(1, "busy", "")}, at: 2, want: working},
		{name: "approved", signs: []sign{hook(1, "PermissionRequest", tool("Bash", "x")), file(3, "busy", "")}, at: 3.1, want: working},
		{
			name:  "denied: nothing but the file says so",
			signs: []sign{hook(1, "UserPromptSubmit"), hook(2, "PermissionRequest", tool("Bash", "x")), file(3, "idle", "")},
			at:    4.1, want: "interrupted",
		},
		{name: "just ended, its hook is on the way", signs: []sign{hook(1, "UserPromptSubmit"), file(3, "idle", "")}, at: 3.5, want: "turn ended", next: 4},
		{name: "interrupted", signs: []sign{hook(1, "UserPromptSubmit"), file(3, "idle", "")}, at: 4, want: "interrupted"},
		{name: "a hook that the file has not followed", signs: []sign{file(1, "idle", ""), hook(2, "UserPromptSubmit")}, at: 2.1, want: working, next: 4},
		{name: "a hook that the file never followed", signs: []sign{file(1, "busy", ""), hook(2, "PermissionRequest", tool("Bash", "x"))}, at: 4.1, want: working},
		{name: "ended, and slow to say so in the file", signs: []sign{hook(1, "UserPromptSubmit"), file(1.1, "busy", ""), hook(2, "Stop")}, at: 6, want: "turn ended", next: 12},
		{
			name:  "ended, with another prompt given before",
			signs: []sign{hook(1, "UserPromptSubmit"), file(1.1, "busy", ""), hook(2, "UserPromptSubmit"), hook(3, "Stop")},
			at:    5.1, want: working,
		},
		{name: "a queued turn", signs: []sign{hook(1, "Stop"), file(1.1, "busy", "")}, at: 1.2, want: working},
		{name: "waiting, as an older one says it", signs: []sign{hook(1, "PreToolUse", tool("Bash", "x")), file(2, "waiting", "approve Bash")}, at: 3, want: "permission", text: "text of PreToolUse"},
		{name: "a dialog", signs: []sign{hook(1, "Stop"), file(2, "waiting", "dialog open")}, at: 3, want: "dialog"},
		{name: "a shell in the background", signs: []sign{hook(1, "Stop"), file(2, "shell", "")}, at: 3, want: "turn ended", text: "text of Stop"},
		{name: "a word that is not known", signs: []sign{hook(1, "Stop"), file(2, "pondering", "")}, at: 3, want: "turn ended"},
		{name: "the file is gone", signs: []sign{hook(1, "Stop"), file(2, "busy", ""), func(e *evidence) { e.setFile(nil) }}, at: 3, want: "turn ended"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := evidence{started: start}
			for _, s := range test.signs {
				s(&e)
			}
			c, next := e.status(after(test.at))
			got := string(c.why)
			switch c.state {
			case rtapi.AgentWorking:
				got = working
			case "":
				got = unknown
			case rtapi.AgentWaiting:
			}
			if got != test.want || c.by == "" && got != unknown {
				t.Errorf("got %s by %q, want %s", got, c.by, test.want)
			}
			if test.next == 0 && !next.IsZero() || test.next != 0 && !next.Equal(after(test.next)) {
				t.Errorf("looks again at %v, want %v s", next.Sub(start), test.next)
			}
			if test.text != "" && c.prompt != test.text {
				t.Errorf("says %q, want %q", c.prompt, test.text)
			}
		})
	}
}

// Whatever order the hooks of a turn arrive in, and however often, the end is the same.
func TestStatusOfEveryOrder(t *testing.T) {
	t.Parallel()
	turn := []sign{
		hook(1, "UserPromptSubmit"), hook(2, "PreToolUse", tool("Bash", "x")), hook(2.2, "PermissionRequest", tool("Bash", "x")),
		hook(5, "PostToolUse", tool("Bash", "x")), hook(6, "Stop"),
	}
	permute(len(turn), func(order []int) {
		var e evidence
		for _, i := range order {
			turn[i](&e)
			turn[i](&e)
		}
		// A permission whose answer overtook it is closed by the end of the turn, which is newer, or never counts.
		if c, _ := e.status(after(7)); c.why != rtapi.ForTurnEnd {
			t.Errorf("%v: %+v", order, c)
		}
	})
}

func permute(n int, each func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			each(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			rec(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	rec(0)
}

func TestTranscriptLines(t *testing.T) {
	t.Parallel()
	var tr transcript
	for _, line := range []string{
		`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-30T12:00:01Z"}`,
		`{"type":"user","timestamp":"2026-11-30T12:00:02Z","message":{"content":"what does [Request interrupted by user] mean?"}}`,
		`{"type":"assistant","timestamp":"2026-11-30T12:00:03Z","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		`{"type":"assistant","isSidechain":true,"timestamp":"2026-11-30T12:00:09Z"}`,
		`{"type":"assi`,
		"null", "[]", "\x00",
		`{"type":"assistant","timestamp":"9999-11-30T12:00:03Z"}`,
	} {
		tr.line([]byte(line))
	}
	want := tail{answered: after(3), queued: 1}
	if tr.tail != want {
		t.Errorf("got %+v, want %+v", tr.tail, want)
	}
	tr.line([]byte(`{"type":"user","timestamp":"2026-11-30T12:00:04Z","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`))
	if !tr.interrupted.Equal(after(4)) || tr.queued != 0 {
		t.Errorf("got %+v", tr.tail)
	}
}
