package doctor

import (
	"fmt"
	"strings"
)

func tmux(t Tmux) Check {
	const name = "tmux"
	if t.Err != nil && t.PID == 0 {
		return failed(name, t.Err)
	}
	if t.PID == 0 {
		return fine(name, fmt.Sprintf("%s at %s; the private server does not run", t.Version, t.Binary))
	}
	return fine(name, fmt.Sprintf("%s at %s; the private server is process %d", t.Version, t.Binary, t.PID))
}

func tmuxOptions(t Tmux) Check {
	const name = "tmux options"
	switch {
	case t.PID == 0:
		return fine(name, "set when the private server starts")
	case t.Err != nil:
		return failed(name, t.Err)
	case len(t.Wrong) > 0:
		// The runtime sets all options whenever it connects.
		return problem(name, strings.Join(t.Wrong, ", "), "corral down && corral up")
	}
	return fine(name, "as Corral sets them")
}

// logout tells whether the sessions outlive the user's logout.
func logout(t Tmux, user string) Check {
	const name = "logout"
	where := map[string]string{
		"unit": "in a unit of systemd", "scope": "in a scope of its own", "session": "in a session of its own",
	}[t.Placement]
	if where == "" {
		where = "not placed"
	}
	fix := ""
	if t.CanLinger {
		fix = "loginctl enable-linger " + user
		if t.PID != 0 {
			fix += ", then end all sessions once: a running server cannot be moved"
		}
	}
	tense := "will be"
	if t.PID != 0 {
		tense = "is"
	}
	says := fmt.Sprintf("the tmux server %s %s", tense, where)
	switch {
	case t.Err != nil && t.PID == 0:
		return warn(name, "not known without tmux", "")
	case t.SurvivesLogout == "true":
		return fine(name, says+" and outlives a logout")
	case t.SurvivesLogout == "false":
		return warn(name, says+", and systemd ends it at logout", fix)
	}
	return warn(name, says+"; whether it outlives a logout is not known", fix)
}

func database(d Database) Check {
	const name = "database"
	if d.Err != nil {
		return failed(name, d.Err)
	}
	switch {
	case d.Kind == "external":
		return fine(name, "external PostgreSQL "+d.Version+" answers")
	case !d.Made:
		return fine(name, "PostgreSQL "+d.Version+"; its cluster will be made in "+d.Dir)
	case d.PID == 0:
		return fine(name, "PostgreSQL "+d.Version+" in "+d.Dir+"; it does not run")
	}
	return fine(name, fmt.Sprintf("PostgreSQL %s in %s, process %d", d.Version, d.Dir, d.PID))
}

func role(r Role) Check {
	switch {
	case r.LockErr != nil:
		return failed(r.Name, r.LockErr)
	case r.Listens != 0 && r.Listens != r.Lock:
		return problem(r.Name, fmt.Sprintf("process %d listens on %s and is no %s of this Corral", r.Listens, r.Socket, r.Name),
			fmt.Sprintf("see what it is with: ps -fp %d; end it, or set CR_RUN_DIR to another directory", r.Listens))
	case r.Listens != 0 && r.Version != "" && r.Version != r.Ours:
		return warn(r.Name, fmt.Sprintf("process %d runs version %s, and this is %s", r.Listens, r.Version, r.Ours), "corral down && corral up")
	case r.Listens != 0:
		return fine(r.Name, fmt.Sprintf("process %d", r.Listens))
	case r.Lock != 0:
		return problem(r.Name, fmt.Sprintf("process %d holds the lock and does not answer on %s", r.Lock, r.Socket),
			fmt.Sprintf("corral logs %s; then: corral down && corral up", r.Name))
	case r.Stale:
		return fine(r.Name, "does not run; its socket was left behind and is replaced at the next start")
	}
	return fine(r.Name, "does not run; it is started when needed")
}

func down(is bool) []Check {
	if !is {
		return nil
	}
	return []Check{warn("corral down", "this Corral was stopped and stays down", "corral up")}
}
