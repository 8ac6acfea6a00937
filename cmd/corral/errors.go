package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// The exit codes of every verb.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnreachable = 4
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

// exitCode maps an error to the exit code; the code of the error decides, never its text.
func exitCode(err error) int {
	switch sessions.CodeOf(err) {
	case "":
		return exitDone
	case sessions.CodeInvalid:
		return exitUsage
	case sessions.CodeNotFound:
		return exitNotFound
	case sessions.CodeUnreachable, sessions.CodeRuntimeUnreachable, sessions.CodeDatabaseUnavailable:
		return exitUnreachable
	case sessions.CodeConflict, sessions.CodeUnauthenticated, sessions.CodeForbidden, sessions.CodeTooLarge,
		sessions.CodeRateLimited, sessions.CodeDeadline, sessions.CodeInternal:
		return exitFailed
	}
	return exitFailed
}

// fail prints err as one sentence, or as JSON, and returns the exit code.
func (p *program) fail(err error) int {
	if err == nil {
		return exitDone
	}
	var e *sessions.Error
	if !errors.As(err, &e) {
		e = &sessions.Error{Code: sessions.CodeInternal, Message: sentence(err)}
		if errors.Is(err, context.DeadlineExceeded) {
			e.Code = sessions.CodeDeadline
		}
	}
	if p.json {
		// An error in writing the error has nowhere to go.
		_ = json.NewEncoder(p.stderr).Encode(sessions.ErrorBody{Error: e})
		return exitCode(e)
	}
	_, _ = fmt.Fprintln(p.stderr, "corral: "+sentence(e)+candidates(e))
	return exitCode(e)
}

// fromRuntime makes the runtime's own kind of error one for people; any other stays as it is.
func fromRuntime(err error) error {
	var e *rtapi.Error
	if !errors.As(err, &e) {
		return err
	}
	return &sessions.Error{Code: sessions.Code(e.Code), Message: e.Message, Hint: e.Hint, Cause: err}
}

// candidates lists what an ambiguous name could have meant, one per line.
func candidates(e *sessions.Error) string {
	// Through JSON, because the error was made either here or behind the socket.
	raw, err := json.Marshal(e.Details["candidates"])
	if err != nil {
		return ""
	}
	var list []struct {
		ID    sessions.ID    `json:"id"`
		Title string         `json:"title"`
		State sessions.State `json:"state"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "\n  %s  %s  %s", c.ID, c.State, sessions.CleanTitle(c.Title))
	}
	return b.String()
}

// sentence makes one line of an error, whatever it quotes.
func sentence(err error) string { return sessions.CleanLine(err.Error(), 1000) }

// usage is an error of the command line.
func usage(message, hint string) error {
	return &sessions.Error{Code: sessions.CodeInvalid, Message: message, Hint: hint}
}
