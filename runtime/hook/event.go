package hook

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"corral/runtime/rtapi"
)

// maxText bounds what is sent of a text for people, maxName of a name.
const (
	maxText = 2000
	maxName = 4096
)

// told is what agents write to their hooks. Codex and Gemini CLI have copied the shape of Claude Code.
type told struct {
	HookEventName    string          `json:"hook_event_name"`
	SessionID        string          `json:"session_id"`
	TranscriptPath   string          `json:"transcript_path"`
	CWD              string          `json:"cwd"`
	Source           string          `json:"source"`
	Trigger          string          `json:"trigger"`
	Reason           string          `json:"reason"`
	AgentID          string          `json:"agent_id"`
	ToolName         string          `json:"tool_name"`
	ToolInput        json.RawMessage `json:"tool_input"`
	NotificationType string          `json:"notification_type"`
	Message          string          `json:"message"`
	Prompt           string          `json:"prompt"`
	Error            json.RawMessage `json:"error"`
	LastMessage      string          `json:"last_assistant_message"`
	BackgroundTasks  []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"background_tasks"`
}

// read makes an event of what an agent told. Everything that may be large is cut here, so that a post is always small.
func read(r io.Reader) (rtapi.HookEvent, error) {
	var t told
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return rtapi.HookEvent{}, fmt.Errorf("read the event: %w", err)
	}
	e := rtapi.HookEvent{
		Name: cut(t.HookEventName, maxName), Conversation: cut(t.SessionID, maxName), Transcript: cut(t.TranscriptPath, maxName),
		CWD: cut(t.CWD, maxName), Source: cut(t.Source, maxName), Reason: cut(t.Reason, maxName), AgentID: cut(t.AgentID, maxName),
		Tool: cut(t.ToolName, maxName), Notification: cut(t.NotificationType, maxName), Text: cut(text(t), maxText),
	}
	if e.Source == "" {
		e.Source = cut(t.Trigger, maxName) // PreCompact: manual or auto
	}
	if t.ToolName != "" {
		e.Call = Sum(t.ToolName + "\x00" + string(t.ToolInput))
	}
	for _, b := range t.BackgroundTasks {
		if b.Type == "subagent" && b.Status == "running" {
			e.Subagents++
		}
	}
	return e, nil
}

// text is what of an event is worth showing to a person.
func text(t told) string {
	switch {
	case t.ToolName != "":
		return toolText(t.ToolName, t.ToolInput)
	case t.Message != "":
		return t.Message
	case t.HookEventName == "StopFailure":
		var e string
		if json.Unmarshal(t.Error, &e) == nil && e != "" && t.LastMessage != "" {
			return e + ": " + t.LastMessage
		}
		return e + t.LastMessage
	case t.LastMessage != "":
		return t.LastMessage
	}
	return t.Prompt
}

// toolText says what a tool is asked to do: the fields that name it in the tools that agents have, else its whole input.
func toolText(name string, input json.RawMessage) string {
	var in struct {
		Command   string `json:"command"`
		FilePath  string `json:"file_path"`
		Path      string `json:"path"`
		URL       string `json:"url"`
		Query     string `json:"query"`
		Plan      string `json:"plan"`
		Prompt    string `json:"prompt"`
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	_ = json.Unmarshal(input, &in) // fields of another type are not these
	for _, q := range in.Questions {
		if q.Question != "" {
			return q.Question
		}
	}
	for _, v := range []string{in.Command, in.FilePath, in.Path, in.URL, in.Query, in.Plan, in.Prompt} {
		if v != "" {
			return name + ": " + v
		}
	}
	if s := strings.TrimSpace(string(input)); s != "" && s != "{}" && s != "null" {
		return name + ": " + s
	}
	return name
}

// cut shortens s to limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
