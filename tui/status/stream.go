package status

import (
	"fmt"
	"strings"
	"time"

	"corral/sessions"
)

// Stream is what is known of the stream behind a pane, and of who else looks at its session.
type Stream struct {
	Link      sessions.Link
	Dropped   int
	Replaying bool // history is coming
	Behind    bool // output came faster than it was taken
	Ended     bool // the session has
	ExitCode  *int

	Attached, Watching int  // viewers, this one included; both 0 while not known
	Held               bool // this one counts as attached
	Owner              bool // the window's size is this viewer's
}

// Word says what the pane is showing: the live screen, or what else.
func (s Stream) Word(now time.Time) string {
	switch {
	case s.Ended && s.ExitCode != nil:
		return fmt.Sprintf("ended (%d)", *s.ExitCode)
	case s.Ended:
		return "ended"
	}
	switch s.Link.State {
	case sessions.LinkLive:
		switch {
		case s.Behind:
			return "behind, resyncing"
		case s.Replaying:
			return "replaying"
		}
		return "live"
	case sessions.LinkReconnecting:
		word := nextTry(s.Link, now)
		if s.Dropped > 0 {
			word += fmt.Sprintf(" (%s dropped)", count(s.Dropped, "key"))
		}
		return word
	case sessions.LinkEnded:
		return "cut off"
	case sessions.LinkConnecting:
	}
	return "connecting"
}

// Others says who else is there and whose the size is, "" when this viewer is alone.
func (s Stream) Others() string {
	attached, watching := s.Attached, s.Watching
	if s.Held {
		attached--
	} else {
		watching--
	}
	var who []string
	if attached > 0 {
		who = append(who, fmt.Sprintf("+%d attached", attached))
	}
	if watching > 0 {
		who = append(who, fmt.Sprintf("+%d watching", watching))
	}
	switch {
	case len(who) == 0:
		return ""
	case s.Owner:
		who = append(who, "your size")
	case attached > 0:
		who = append(who, "their size")
	}
	return strings.Join(who, ", ")
}

// Few is Others for where there is no room.
func (s Stream) Few() string {
	if n := s.Attached + s.Watching - 1; n > 0 {
		return fmt.Sprintf("+%d", n)
	}
	return ""
}
