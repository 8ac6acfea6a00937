package sessions

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Profile says how an agent is started, how its conversation is brought back, and what it tells about itself. The name
// of a profile is the kind of the sessions that run it.
type Profile struct {
	// Start begins a conversation, Resume goes on with one by its id, Continue with the newest one of the directory. "{id}"
	// stands for the id. Without Resume the id is of no use, without Continue there is no going on without one.
	Start    []string
	Resume   []string
	Continue []string
	// ID says how the id of the conversation comes to be known, Waiting how it is known that the agent waits for its user.
	ID      IDSource
	Waiting WaitingSource
	// Transcript is where a conversation is kept, so that it can be seen whether it exists: a path that begins with ~/, with
	// / or with ${VARIABLE:-default}, and in which "{id}" stands for the id and "{cwd}" for the directory as Claude Code
	// spells it. Empty: it cannot be seen, and Resume is tried.
	Transcript string
}

// IDSource says how the id of an agent's conversation comes to be known.
type IDSource string

// The sources of ids.
const (
	IDGiven   IDSource = "given"   // Start has a place for it
	IDLearned IDSource = "learned" // a hook tells it
	IDNone    IDSource = "none"    // never
)

// WaitingSource says how it is known that an agent waits for its user.
type WaitingSource string

// The sources of waiting.
const (
	WaitingHooks WaitingSource = "hooks" // it runs hooks that tell
	WaitingNone  WaitingSource = "none"  // it is not known
)

// ProfileID is what stands for the id of a conversation in a profile's command lines and paths, ProfileCWD for the
// directory in its paths.
const (
	ProfileID  = "{id}"
	ProfileCWD = "{cwd}"
)

// MaxKind bounds the name of a kind.
const MaxKind = 32

var kindName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`) //nolint:gochecknoglobals // a constant

// Valid reports whether k can be the name of a kind.
func (k Kind) Valid() bool { return len(k) <= MaxKind && kindName.MatchString(string(k)) }

// Profiles are the agents that sessions can run, by kind.
type Profiles map[Kind]Profile

// BuiltinProfiles returns the profiles that need no configuration. Their flags were read from the programs' own help:
// claude 2.1.332, codex 0.171.0, gemini 0.61.0, opencode 1.18.33, and aider's documentation. Only claude was driven through
// whole conversations. It alone is given its hooks at each start; in the others' configuration the user would name them, so
// until the user says that he has, they count as telling nothing.
func BuiltinProfiles() Profiles {
	return Profiles{
		KindClaude: {
			Start:      []string{"claude", "--session-id", ProfileID},
			Resume:     []string{"claude", "--resume", ProfileID},
			Continue:   []string{"claude", "--continue"},
			ID:         IDGiven,
			Waiting:    WaitingHooks,
			Transcript: "${CLAUDE_CONFIG_DIR:-~/.claude}/projects/" + ProfileCWD + "/" + ProfileID + ".jsonl",
		},
		"codex": {
			Start:    []string{"codex"},
			Resume:   []string{"codex", "resume", ProfileID},
			Continue: []string{"codex", "resume", "--last"},
			ID:       IDLearned,
			Waiting:  WaitingNone,
		},
		"gemini": {
			Start:    []string{"gemini", "--session-id", ProfileID},
			Resume:   []string{"gemini", "--resume", ProfileID},
			Continue: []string{"gemini", "--resume", "latest"},
			ID:       IDGiven,
			Waiting:  WaitingNone,
		},
		"opencode": {
			Start:    []string{"opencode"},
			Resume:   []string{"opencode", "--session", ProfileID},
			Continue: []string{"opencode", "--continue"},
			ID:       IDLearned,
			Waiting:  WaitingNone,
		},
		"aider": {
			Start:    []string{"aider"},
			Continue: []string{"aider", "--restore-chat-history"},
			ID:       IDNone,
			Waiting:  WaitingNone,
		},
	}
}

// With returns the profiles with those of a configuration over them: what a configured one leaves out stays as it was.
func (p Profiles) With(configured map[string]Profile) Profiles {
	all := maps.Clone(p)
	for name, c := range configured {
		had := all[Kind(name)]
		for _, line := range []struct{ to, from *[]string }{
			{&had.Start, &c.Start}, {&had.Resume, &c.Resume}, {&had.Continue, &c.Continue},
		} {
			if *line.from != nil {
				*line.to = *line.from
			}
		}
		had.ID, had.Waiting = orElse(c.ID, had.ID), orElse(c.Waiting, had.Waiting)
		had.Transcript = orElse(c.Transcript, had.Transcript)
		had.ID, had.Waiting = orElse(had.ID, had.obviousID()), orElse(had.Waiting, WaitingNone)
		all[Kind(name)] = had
	}
	return all
}

func orElse[T ~string](value, otherwise T) T {
	if value != "" {
		return value
	}
	return otherwise
}

// obviousID is what a profile's lines say about the source of its ids.
func (p Profile) obviousID() IDSource {
	switch {
	case hasID(p.Start):
		return IDGiven
	case hasID(p.Resume):
		return IDLearned
	}
	return IDNone
}

func hasID(line []string) bool {
	return slices.ContainsFunc(line, func(arg string) bool { return strings.Contains(arg, ProfileID) })
}

// Problem says in part of a sentence what is wrong with a profile called name, and with which of its keys; "" for nothing.
func (p Profile) Problem(name string) (key, says string) {
	switch {
	case name == string(KindShell) || name == string(KindCommand):
		return "", fmt.Sprintf("is no agent: %s is a kind of its own", name)
	case !Kind(name).Valid():
		return "", fmt.Sprintf("must be named by lower-case letters, digits, - and _, at most %d of them", MaxKind)
	case len(p.Start) == 0 || p.Start[0] == "":
		return "start", `must name the program, as start = ["` + name + `"]`
	case p.ID == IDGiven && !hasID(p.Start):
		return "start", "must have a place for the conversation's id, {id}, when id is given"
	case p.Resume != nil && !hasID(p.Resume):
		return "resume", "must have a place for the conversation's id, {id}"
	case hasID(p.Continue):
		return "continue", "goes on without the conversation's id and has no place for it"
	case p.ID != IDGiven && p.ID != IDLearned && p.ID != IDNone:
		return "id", "must be given, learned or none"
	case p.Waiting != WaitingHooks && p.Waiting != WaitingNone:
		return "waiting", "must be hooks or none"
	case p.Transcript != "" && !strings.Contains(p.Transcript, ProfileID):
		return "transcript", "must have a place for the conversation's id, {id}"
	case p.Transcript != "" && !strings.HasPrefix(p.Transcript, "/") && !strings.HasPrefix(p.Transcript, "~/") && !variableRoot.MatchString(p.Transcript):
		return "transcript", "must begin with /, with ~/ or with ${VARIABLE:-default}/"
	}
	return "", ""
}

var variableRoot = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*):-((?:~/|/)[^}]*)\}/`) //nolint:gochecknoglobals // a constant

// TranscriptRoot takes the begin of Transcript apart: the variable that names it, "" for none, what it is while that is not
// set, and the rest of the path.
func (p Profile) TranscriptRoot() (variable, otherwise, rest string) {
	if m := variableRoot.FindStringSubmatch(p.Transcript); m != nil {
		return m[1], m[2], p.Transcript[len(m[0]):]
	}
	if rest, home := strings.CutPrefix(p.Transcript, "~/"); home {
		return "", "~/", rest
	}
	return "", "/", strings.TrimPrefix(p.Transcript, "/")
}
