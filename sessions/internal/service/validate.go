package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"corral/sessions"
)

const (
	defaultCols, defaultRows = 80, 24
	// maxSide bounds a terminal's width and height. No screen is larger; tmux itself takes 10 000, at which one pane's
	// grid alone is gigabytes.
	maxSide = 1000
	// maxEnvBytes bounds the whole of a request's environment; one string may be 128 KiB (MAX_ARG_STRLEN).
	maxEnvBytes = 1 << 20
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func invalid(field, message, hint string) error {
	return &sessions.Error{
		Code: sessions.CodeInvalid, Message: message, Hint: hint,
		Details: map[string]any{"field": field},
	}
}

// normalize checks a request to create a session and returns it as it is stored: cleaned, with defaults.
func normalize(r sessions.CreateRequest, agents sessions.Profiles) (sessions.CreateRequest, error) {
	if r.Kind == "" {
		r.Kind = sessions.KindShell
	}
	for _, check := range []func(*sessions.CreateRequest) error{
		agentsOf(agents).checkKind, checkArgs, checkCWD, checkEnv, checkSize, agentsOf(agents).checkConversation,
	} {
		if err := check(&r); err != nil {
			return r, err
		}
	}
	r.Title = sessions.CleanTitle(r.Title)
	r.Project = sessions.CleanLine(r.Project, sessions.MaxProject)
	if r.Title == "" {
		r.Title = defaultTitle(r)
	}
	return r, nil
}

// defaultTitle is the command for a command, the last part of the directory for anything else.
func defaultTitle(r sessions.CreateRequest) string {
	title := filepath.Base(r.CWD)
	if r.Kind == sessions.KindCommand {
		title = strings.Join(append([]string{filepath.Base(r.Args[0])}, r.Args[1:]...), " ")
	}
	if title = sessions.CleanTitle(title); title == "" {
		return string(r.Kind)
	}
	return title
}

// agentsOf are the checks that depend on which agents there are.
type agentsOf sessions.Profiles

func (a agentsOf) checkKind(r *sessions.CreateRequest) error {
	switch r.Kind {
	case sessions.KindShell:
		if len(r.Args) > 0 {
			return invalid("args", "a shell session takes no arguments", "use kind command to run a program")
		}
	case sessions.KindCommand:
		if len(r.Args) == 0 || r.Args[0] == "" {
			return invalid("args", "a command session needs a command", "give the program and its arguments")
		}
	case sessions.KindClaude:
		return checkClaudeArgs(r.Args)
	default:
		if _, known := a[r.Kind]; !known {
			return invalid("kind", fmt.Sprintf("there is no kind of session called %q", sessions.CleanLine(string(r.Kind), 40)),
				"use shell, command or one of the agents: "+a.names())
		}
	}
	return nil
}

func (a agentsOf) names() string {
	var names []string
	for kind := range a {
		names = append(names, string(kind))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// checkClaudeArgs refuses what Corral gives itself: the conversation is the session's, not an argument that comes again at
// each restart.
func checkClaudeArgs(args []string) error {
	for _, arg := range args {
		flag, _, _ := strings.Cut(arg, "=")
		switch flag {
		case "--":
			return nil
		case "--resume", "-r", "--continue", "-c", "--session-id", "--fork-session":
			return invalid("args", fmt.Sprintf("claude's %s is for Corral to give", flag), "name the conversation with --conversation")
		}
	}
	return nil
}

func checkArgs(r *sessions.CreateRequest) error {
	if len(r.Args) > sessions.MaxArgs {
		return invalid("args", fmt.Sprintf("a session takes at most %d arguments", sessions.MaxArgs), "put them into a script")
	}
	total := 0
	for _, a := range r.Args {
		total += len(a)
		if strings.ContainsRune(a, 0) {
			return invalid("args", "an argument contains a NUL character", "leave it out")
		}
		if !utf8.ValidString(a) {
			return invalid("args", "an argument is not UTF-8", "put it into a script")
		}
	}
	if total > sessions.MaxArgBytes {
		return invalid("args", fmt.Sprintf("the arguments are longer than %d bytes together", sessions.MaxArgBytes), "put them into a script")
	}
	return nil
}

// checkCWD looks at the directory as well, because a typing error must not leave a failed session behind. The runtime
// looks again when it starts the program, and its answer counts.
func checkCWD(r *sessions.CreateRequest) error {
	name := sessions.CleanLine(r.CWD, 200)
	switch {
	case r.CWD == "":
		return invalid("cwd", "a session needs a directory to start in", "give its absolute path")
	case !filepath.IsAbs(r.CWD):
		return invalid("cwd", fmt.Sprintf("the directory %s is not an absolute path", name), "begin it with /")
	case len(r.CWD) > sessions.MaxPath:
		return invalid("cwd", fmt.Sprintf("the directory's path is longer than %d bytes", sessions.MaxPath), "use a shorter path")
	case strings.ContainsRune(r.CWD, 0) || !utf8.ValidString(r.CWD):
		return invalid("cwd", "the directory's path is not text", "use a path of UTF-8 without NUL characters")
	}
	r.CWD = filepath.Clean(r.CWD)
	info, err := os.Stat(r.CWD)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return invalid("cwd", fmt.Sprintf("the directory %s does not exist", name), "create it, or choose another")
	case err != nil:
		return unreachable(name, err)
	case !info.IsDir():
		return invalid("cwd", fmt.Sprintf("%s is not a directory", name), "choose a directory")
	}
	if err := unix.Access(r.CWD, unix.X_OK); err != nil {
		return unreachable(name, err)
	}
	return nil
}

func unreachable(dir string, err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno // its words alone: the path is said already
	}
	return invalid("cwd", fmt.Sprintf("the directory %s cannot be entered: %v", dir, err), "choose another, or correct its permissions")
}

func checkEnv(r *sessions.CreateRequest) error {
	total := 0
	for _, kv := range r.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !envName.MatchString(name) {
			// The value may be a secret: it is not repeated.
			return invalid("env", fmt.Sprintf("the environment entry %q has not the form NAME=value", sessions.CleanLine(name, 80)),
				"names are letters, digits and underscores")
		}
		if strings.ContainsRune(value, 0) {
			return invalid("env", fmt.Sprintf("the value of %s contains a NUL character", name), "leave it out")
		}
		total += len(kv)
	}
	if total > maxEnvBytes {
		return invalid("env", "the environment is longer than 1 MiB", "put it into a file that the program reads")
	}
	return nil
}

func checkSize(r *sessions.CreateRequest) error {
	if r.Cols == 0 {
		r.Cols = defaultCols
	}
	if r.Rows == 0 {
		r.Rows = defaultRows
	}
	if r.Cols < 1 || r.Cols > maxSide || r.Rows < 1 || r.Rows > maxSide {
		return invalid("cols", fmt.Sprintf("a terminal of %d columns and %d rows is not possible", r.Cols, r.Rows),
			fmt.Sprintf("both must be from 1 to %d", maxSide))
	}
	return nil
}

func (a agentsOf) checkConversation(r *sessions.CreateRequest) error {
	if r.ConversationID == "" {
		return nil
	}
	switch p, isAgent := a[r.Kind]; {
	case !isAgent:
		return invalid("conversationId", "only an agent's session has a conversation", "use kind claude")
	case p.Resume == nil:
		return invalid("conversationId", fmt.Sprintf("%s cannot go on with a conversation by its id", r.Kind), "leave it out")
	case r.Kind != sessions.KindClaude:
		return checkForeignID(r.ConversationID)
	}
	id, err := uuid.Parse(r.ConversationID)
	if err != nil || len(r.ConversationID) != len(id.String()) {
		return invalid("conversationId", "the conversation id is not a UUID", "copy it from the agent, as 3f2a0c9e-...")
	}
	r.ConversationID = id.String()
	return nil
}

// checkForeignID bounds the id of a conversation of which only its agent knows the form. It becomes an argument of a
// command line and a part of a file's name.
func checkForeignID(id string) error {
	const maxID = 200
	if len(id) > maxID || strings.HasPrefix(id, "-") || strings.ContainsAny(id, "/\\") || sessions.CleanLine(id, maxID) != id {
		return invalid("conversationId", "that is no id of a conversation", "copy it from the agent")
	}
	return nil
}
