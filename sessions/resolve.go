package sessions

import (
	"fmt"
	"sort"
	"strings"
)

// Resolve finds the one session that text names: its exact id, else the only id that begins with text, else the only
// title equal to text. A text that names several is invalid; the error's details carry the candidates, each as
// id, title and state, so that a person can pick one.
func Resolve(list []Session, text string) (Session, error) {
	if text == "" {
		return Session{}, &Error{Code: CodeInvalid, Message: "no session was named", Hint: "give an id, the beginning of one, or a title"}
	}
	var byPrefix, byTitle []Session
	for _, s := range list {
		if string(s.ID) == text {
			return s, nil
		}
		if strings.HasPrefix(string(s.ID), strings.ToLower(text)) {
			byPrefix = append(byPrefix, s)
		}
		if s.Title == text {
			byTitle = append(byTitle, s)
		}
	}
	for _, found := range [][]Session{byPrefix, byTitle} {
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return Session{}, ambiguous(text, found)
	}
	return Session{}, &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("no session is called %q", CleanLine(text, MaxTitle)),
		Hint:    "see corral ls",
	}
}

func ambiguous(text string, found []Session) error {
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	candidates := make([]map[string]any, len(found))
	for i, s := range found {
		candidates[i] = map[string]any{"id": s.ID, "title": s.Title, "state": s.State}
	}
	return &Error{
		Code:    CodeInvalid,
		Message: fmt.Sprintf("%q names %d sessions", CleanLine(text, MaxTitle), len(found)),
		Hint:    "give more of the id",
		Details: map[string]any{"candidates": candidates},
	}
}
