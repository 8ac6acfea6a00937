package sessions

// State is where a session is in its life. The strings are stored and sent; never change one.
type State string

// The states. docs/states.md has the picture; TestStateTableAgrees holds table, picture and database together.
const (
	Starting        State = "STARTING"          // asked for, process not yet confirmed
	Running         State = "RUNNING"           // alive, somebody attached
	Detached        State = "DETACHED"          // alive, nobody attached
	WaitingForInput State = "WAITING_FOR_INPUT" // the agent waits for its user
	Stopping        State = "STOPPING"          // asked to stop
	Stopped         State = "STOPPED"           // exited 0, or stopped or closed by the user
	Failed          State = "FAILED"            // exited non-zero or by a signal, or never started
	Recoverable     State = "RECOVERABLE"       // was live, the node's tmux no longer knows it
)

// States lists every state in the order of a session's life.
func States() []State {
	return []State{Starting, Running, Detached, WaitingForInput, Stopping, Stopped, Failed, Recoverable}
}

// Next returns the states that may follow s.
func (s State) Next() []State {
	switch s {
	case Starting:
		return []State{Running, Detached, WaitingForInput, Stopping, Stopped, Failed}
	case Running:
		return []State{Detached, WaitingForInput, Stopping, Stopped, Failed, Recoverable}
	case Detached:
		return []State{Running, WaitingForInput, Stopping, Stopped, Failed, Recoverable}
	case WaitingForInput:
		return []State{Running, Detached, Stopping, Stopped, Failed, Recoverable}
	case Stopping:
		return []State{Stopped, Failed}
	case Stopped:
		return []State{Starting, Detached}
	case Failed:
		return []State{Starting, Detached, Recoverable}
	case Recoverable:
		return []State{Starting, Stopped, Detached}
	}
	return nil
}

// CanFollow reports whether next may follow s directly.
func (s State) CanFollow(next State) bool {
	for _, n := range s.Next() {
		if n == next {
			return true
		}
	}
	return false
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s.Next() != nil }

// Live reports whether a process is believed to run: STARTING, RUNNING, DETACHED, WAITING_FOR_INPUT, STOPPING.
func (s State) Live() bool {
	switch s {
	case Starting, Running, Detached, WaitingForInput, Stopping:
		return true
	case Stopped, Failed, Recoverable:
		return false
	}
	return false
}

// Ended reports whether nothing runs: STOPPED, FAILED, RECOVERABLE. Only ended sessions can be restarted or removed.
func (s State) Ended() bool { return s.Valid() && !s.Live() }
