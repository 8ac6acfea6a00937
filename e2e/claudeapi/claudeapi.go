// Package claudeapi is a stand-in for the service that Claude Code talks to, so that the real program can be driven in
// tests without account or network. It answers POST /v1/messages as a stream, and keeps nothing: what it answers depends
// on the request alone.
//
// A prompt says what the model does: steps after "rig:", separated by "|>", one for each request of the turn: say TEXT,
// slow SECONDS, bash COMMAND, bashbg COMMAND, ask QUESTION, plan TEXT, error STATUS. When they are used up the answer is
// "Done."; a conversation without any prompt of this kind is answered "You said: " and what was said last.
package claudeapi

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Handler returns the service.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"input_tokens": 100})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			refuse(w, http.StatusNotFound, "not_found_error")
		}
	})
	return mux
}

// request is what of a request decides the answer.
type request struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content content
	}
	Tools        []struct{ Name string }
	OutputConfig struct{ Format json.RawMessage } `json:"output_config"`
}

// content is a text or a list of blocks.
type content []struct{ Type, Text string }

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{"text", text}}
		return nil
	}
	var blocks []struct{ Type, Text string }
	err := json.Unmarshal(b, &blocks)
	*c = blocks
	return err
}

var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`) //nolint:gochecknoglobals // a constant

// words are what a person wrote.
func (c content) words() string {
	var all []string
	for _, b := range c {
		if text := strings.TrimSpace(reminder.ReplaceAllString(b.Text, "")); b.Type == "text" && text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// step finds what the newest prompt with steps wants of this request. The program adds messages of its own to what its
// user wrote, so a message without steps is passed over.
func (r request) step() (verb, rest string) {
	turn, last := 0, ""
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role == "assistant" {
			turn++
			continue
		}
		prompt := m.Content.words()
		if last == "" {
			last = prompt
			if strings.Contains(prompt, "<summary>") {
				return "say", "<analysis>a</analysis>\n<summary>What was said before.</summary>"
			}
		}
		if at := strings.LastIndex(prompt, "rig:"); at >= 0 {
			line, _, _ := strings.Cut(prompt[at+len("rig:"):], "\n")
			steps := strings.Split(line, "|>")
			if turn >= len(steps) {
				return "say", "Done."
			}
			verb, rest, _ = strings.Cut(strings.TrimSpace(steps[turn]), " ")
			return verb, rest
		}
	}
	return "say", "You said: " + last
}

func messages(w http.ResponseWriter, hr *http.Request) {
	var r request
	if err := json.NewDecoder(hr.Body).Decode(&r); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error")
		return
	}
	out := stream{w: w, request: hr, model: r.Model}
	switch verb, rest := r.step(); {
	case len(r.Tools) == 0 && len(r.OutputConfig.Format) > 0: // a side question of the program's own
		out.send(r.Stream, `{"title":"A session","branch":"a-session","isNewTopic":true}`, 0, "", nil)
	case len(r.Tools) == 0:
		out.send(r.Stream, "A session", 0, "", nil)
	case verb == "slow":
		seconds, _ := strconv.Atoi(rest)
		out.send(r.Stream, strings.Repeat("tick ", 4*max(seconds, 1)), time.Duration(seconds)*time.Second, "", nil)
	case verb == "bash":
		out.send(r.Stream, "Running it.", 0, "Bash", map[string]any{"command": rest, "description": "Run it"})
	case verb == "bashbg":
		out.send(r.Stream, "Running it.", 0, "Bash", map[string]any{"command": rest, "description": "Run it", "run_in_background": true})
	case verb == "plan":
		out.send(r.Stream, "Here it is.", 0, "ExitPlanMode", map[string]any{"plan": rest})
	case verb == "ask":
		option := func(name string) any { return map[string]any{"label": name, "description": name} }
		out.send(r.Stream, "", 0, "AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": rest, "header": "Question", "multiSelect": false, "options": []any{option("Red"), option("Blue")},
		}}})
	case verb == "error":
		status, err := strconv.Atoi(rest)
		if err != nil {
			status = http.StatusBadRequest
		}
		refuse(w, status, "invalid_request_error")
	default:
		out.send(r.Stream, rest, 0, "", nil)
	}
}

func refuse(w http.ResponseWriter, status int, kind string) {
	answer(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": "made by the stand-in"}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone away needs none
}

// stream is one answer: a message with a text and perhaps one call of a tool.
type stream struct {
	w       http.ResponseWriter
	request *http.Request
	model   string
}

func (s stream) send(streamed bool, text string, over time.Duration, tool string, input map[string]any) {
	reason := "end_turn"
	if tool != "" {
		reason = "tool_use"
	}
	usage := map[string]any{"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := map[string]any{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": s.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !streamed {
		message["content"], message["stop_reason"] = []any{map[string]any{"type": "text", "text": text}}, reason
		answer(s.w, http.StatusOK, message)
		return
	}
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.event("message_start", map[string]any{"message": message})
	index := 0
	if text != "" {
		s.event("content_block_start", map[string]any{"index": index, "content_block": map[string]any{"type": "text", "text": ""}})
		parts := strings.SplitAfter(text, " ")
		for _, p := range parts {
			s.event("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": "text_delta", "text": p}})
			select {
			case <-time.After(over / time.Duration(len(parts))):
			case <-s.request.Context().Done():
				return
			}
		}
		s.event("content_block_stop", map[string]any{"index": index})
		index++
	}
	if tool != "" {
		b, _ := json.Marshal(input) // of strings and booleans
		s.event("content_block_start", map[string]any{"index": index, "content_block": map[string]any{
			"type": "tool_use", "id": "toolu_" + rand.Text(), "name": tool, "input": map[string]any{},
		}})
		s.event("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": "input_json_delta", "partial_json": string(b)}})
		s.event("content_block_stop", map[string]any{"index": index})
	}
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 10},
	})
	s.event("message_stop", map[string]any{})
}

// event writes one event; a client that has gone away is noticed by the request's context.
func (s stream) event(kind string, v map[string]any) {
	v["type"] = kind
	b, _ := json.Marshal(v) // of strings, numbers and booleans
	_, _ = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, b)
	_ = http.NewResponseController(s.w).Flush()
}
