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
	return resolve(list, text, "session", "see corral ls", func(s Session) named {
		return named{s.ID, s.Title, s.State}
	})
}

// ResolveTask does for tasks what Resolve does for sessions.
func ResolveTask(list []Task, text string) (Task, error) {
	return resolve(list, text, "task", "see corral task ls", func(t Task) named {
		return named{t.ID, t.Title, t.State}
	})
}

// named is what people tell things apart by.
type named struct {
	id    ID
	title string
	state any
}

func resolve[T any](list []T, text, noun, hint string, name func(T) named) (T, error) {
	var none T
	if text == "" {
		return none, &Error{Code: CodeInvalid, Message: "no " + noun + " was named", Hint: "give an id, the beginning of one, or a title"}
	}
	var byPrefix, byTitle []T
	for _, v := range list {
		n := name(v)
		if string(n.id) == text {
			return v, nil
		}
		if strings.HasPrefix(string(n.id), strings.ToLower(text)) {
			byPrefix = append(byPrefix, v)
		}
		if n.title == text {
			byTitle = append(byTitle, v)
		}
	}
	for _, found := range [][]T{byPrefix, byTitle} {
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		candidates := make([]named, len(found))
		for i, v := range found {
			candidates[i] = name(v)
		}
		return none, ambiguous(text, noun, candidates)
	}
	return none, &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("no %s is called %q", noun, CleanLine(text, MaxTitle)),
		Hint:    hint,
	}
}

func ambiguous(text, noun string, found []named) error {
	sort.Slice(found, func(i, j int) bool { return found[i].id < found[j].id })
	candidates := make([]map[string]any, len(found))
	for i, n := range found {
		candidates[i] = map[string]any{"id": n.id, "title": n.title, "state": n.state}
	}
	return &Error{
		Code:    CodeInvalid,
		Message: fmt.Sprintf("%q names %d %ss", CleanLine(text, MaxTitle), len(found), noun),
		Hint:    "give more of the id",
		Details: map[string]any{"candidates": candidates},
	}
}
