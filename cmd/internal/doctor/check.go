package doctor

import (
	"errors"

	"corral/sessions"
)

// Level says how a check came out.
type Level string

// The levels. A warning names what will hurt later or elsewhere; a problem keeps Corral from working.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Check is one line of the report.
type Check struct {
	Name    string `json:"name"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"` // what to do about it, a command where there is one
}

// Examine makes the checks from the facts, in the order in which they are to be mended.
func Examine(f Facts) []Check {
	checks := []Check{
		configuration(f.Config), directories(f.Data), socketLengths(f.Sockets),
	}
	for _, d := range f.Disks {
		checks = append(checks, disk(d))
	}
	checks = append(checks,
		tmux(f.Tmux), tmuxOptions(f.Tmux), logout(f.Tmux, f.User), database(f.Database),
		term(f.Terminal), locale(f.Terminal), clock(f.Clock),
	)
	for _, r := range f.Roles {
		checks = append(checks, role(r))
	}
	return append(checks, down(f.Down)...)
}

// Worst returns the worst level among the checks.
func Worst(checks []Check) Level {
	worst := OK
	for _, c := range checks {
		if c.Level == Problem || c.Level == Warning && worst == OK {
			worst = c.Level
		}
	}
	return worst
}

func fine(name, message string) Check { return Check{Name: name, Level: OK, Message: message} }

func warn(name, message, fix string) Check {
	return Check{Name: name, Level: Warning, Message: message, Fix: fix}
}

func problem(name, message, fix string) Check {
	return Check{Name: name, Level: Problem, Message: message, Fix: fix}
}

// failed is the problem that err tells.
func failed(name string, err error) Check {
	var e *sessions.Error
	if errors.As(err, &e) {
		return problem(name, sessions.CleanLine(e.Message, 500), sessions.CleanLine(e.Hint, 500))
	}
	return problem(name, sessions.CleanLine(err.Error(), 500), "")
}
