package keys

// Situation is what the dashboard knows when a key is pressed, as far as it decides whether an action is possible.
type Situation struct {
	Selected    bool // a session is selected
	Task        bool // a task is selected
	TaskEnded   bool // and has ended
	Live        bool // its process is believed to run
	Ended       bool
	Recoverable bool
	Waiting     bool // some session waits for its user
	Lost        bool // some session can be recovered
	Starting    bool
	Stopping    bool
	Down        bool // the server was stopped by `corral down`
	CanStart    bool // somebody could start it again
	Unreachable bool // no server answers
}

// Reason says in one sentence why a cannot be done now, and what can; "" means that it can.
func Reason(a Action, s Situation) string {
	switch a {
	case Create, Run:
		return serverReason(s)
	case Attend:
		if !s.Waiting {
			return "nothing waits for you"
		}
		return ""
	case Recover:
		if !s.Lost {
			return "no session is lost"
		}
		return serverReason(s)
	case StartUp:
		if !s.Down && !s.Unreachable {
			return "the server runs; there is nothing to start"
		}
		if !s.CanStart {
			return "starting is switched off here; type `corral up`"
		}
		return ""
	case Enter, Restart, Stop, Remove, Rename, Details, ShowLog, PageUp:
		if s.Task {
			return taskReason(a, s)
		}
		if !s.Selected {
			return "no session is selected; n makes one"
		}
	default:
		return ""
	}
	switch a {
	case Enter:
		return enterReason(s)
	case Details, ShowLog, PageUp: // what is known can be shown without a server
		return ""
	case Restart:
		if !s.Ended {
			return "only an ended session can be restarted; x stops this one first"
		}
	case Stop:
		if s.Stopping {
			return "it is being stopped already"
		}
		if s.Ended && !s.Recoverable {
			return "it has ended already; R restarts it, X removes it"
		}
	case Remove:
		if !s.Ended {
			return "only an ended session can be removed; x stops this one first"
		}
	}
	return serverReason(s)
}

// taskReason is Reason for a task.
func taskReason(a Action, s Situation) string {
	switch a {
	case Enter, ShowLog, PageUp, Details:
		return ""
	case Rename:
		return "a task keeps its title"
	case Stop:
		if s.TaskEnded {
			return "it has ended already; X removes it, R runs its command once more"
		}
	case Remove:
		if !s.TaskEnded {
			return "only an ended task can be removed; x cancels this one first"
		}
	default:
	}
	return serverReason(s)
}

func enterReason(s Situation) string {
	switch {
	case s.Starting:
		return "it is starting; try again in a moment"
	case s.Recoverable:
		return "its process is gone; R restarts it, x closes it"
	case s.Ended:
		return "it has ended; R restarts it"
	}
	return ""
}

func serverReason(s Situation) string {
	switch {
	case s.Down:
		return "stopped by corral down; press u to start it"
	case s.Unreachable:
		return "no server answers; it is being looked for"
	}
	return ""
}
