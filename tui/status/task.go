package status

import (
	"fmt"
	"strings"
	"time"

	"corral/sessions"
	"corral/tui/style"
)

// TaskBadge returns the badge of a task at a moment: for one that runs or went well the word is its run time, since the
// mark says the rest.
func TaskBadge(t sessions.Task, now time.Time) Badge {
	switch t.State {
	case sessions.TaskQueued:
		return Badge{"◌", "QUEUED", style.Muted}
	case sessions.TaskRunning:
		return Badge{"▶", RunTime(t, now), style.Good}
	case sessions.TaskSucceeded:
		return Badge{"✓", RunTime(t, now), style.Over}
	case sessions.TaskFailed:
		b := Badge{"✗", "FAILED", style.Bad}
		if t.ExitCode != nil {
			b.Word = fmt.Sprintf("FAILED %d", *t.ExitCode)
		}
		return b
	case sessions.TaskCancelled:
		return Badge{"⊘", "CANCELLED", style.Over}
	case sessions.TaskLost:
		return Badge{"↯", "LOST", style.Lost}
	}
	return Badge{"?", sessions.CleanLine(string(t.State), 20), style.Muted} // a server newer than this dashboard
}

// TaskState is the state of a task in words, with its exit code or signal and how long it ran.
func TaskState(t sessions.Task, now time.Time) string {
	words := []string{sessions.CleanLine(string(t.State), 20)}
	switch {
	case t.State == sessions.TaskLost || !t.State.Ended():
	case t.Signal != nil:
		words = append(words, fmt.Sprintf("by signal %d", *t.Signal))
	case t.ExitCode != nil && *t.ExitCode != 0:
		words = append(words, fmt.Sprint(*t.ExitCode))
	}
	if ran := RunTime(t, now); ran != "" {
		words = append(words, ran)
	}
	return strings.Join(words, " ")
}

// TaskNote is what else is to be said about a task, as a line under its log; "" for nothing.
func TaskNote(t sessions.Task) (note string, alarm bool) {
	reason := sessions.CleanLine(t.Reason, 200)
	switch t.State {
	case sessions.TaskQueued:
		return orElse(reason, "waits for its turn"), false
	case sessions.TaskFailed:
		return reason, true
	case sessions.TaskLost:
		return orElse(reason, "nobody knows how it ended"), true
	case sessions.TaskCancelled:
		if by := sessions.CleanLine(t.CancelledBy, 100); by != "" {
			return "cancelled by " + by, false
		}
		return reason, false
	case sessions.TaskRunning, sessions.TaskSucceeded:
		return reason, false
	}
	return reason, false
}

// RunTime spells how long a task has run or ran, "" when that is not known.
func RunTime(t sessions.Task, now time.Time) string {
	switch {
	case t.StartedAt == nil:
		return ""
	case t.EndedAt != nil:
		return Duration(t.EndedAt.Sub(*t.StartedAt))
	case t.State == sessions.TaskRunning:
		return Duration(now.Sub(*t.StartedAt))
	}
	return ""
}

// NextRunTime returns how long it takes until the run time of a running task reads otherwise.
func NextRunTime(t sessions.Task, now time.Time) time.Duration {
	if t.StartedAt == nil {
		return time.Minute
	}
	ran := max(now.Sub(*t.StartedAt), 0)
	step := time.Second
	if ran >= time.Minute {
		step = time.Minute
	}
	return step - ran%step
}

// Duration spells a duration in at most five characters that matter.
func Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Load spells what a task uses now in at most nine cells: a share of one core, which is negative while it is not known,
// and memory.
func Load(cpu float64, memory int64) string {
	if cpu < 0 {
		return short(memory)
	}
	return fmt.Sprintf("%d%% %s", int(100*cpu+0.5), short(memory))
}

// short spells a number of bytes in at most four cells.
func short(n int64) string {
	const mib = 1 << 20
	if n < 1000*mib {
		return fmt.Sprintf("%dM", (n+mib-1)/mib)
	}
	return fmt.Sprintf("%.1fG", float64(n)/(1<<30))
}

// Memory spells a number of bytes.
func Memory(n int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n < mib:
		return fmt.Sprintf("%d KiB", (n+kib-1)/kib)
	case n < gib:
		return fmt.Sprintf("%d MiB", n/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gib)
}
