package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/status"
	"corral/tui/style"
)

// TaskWanted says that a task is to be run. The form stays open until the dashboard closes it.
type TaskWanted struct{ Request sessions.CreateTaskRequest }

func (TaskWanted) action() {}

// OpCancelTask asks first.
const OpCancelTask Op = "cancel task"

// The fields of the form for a task, in order.
const (
	taskCommand = iota
	taskDirectory
	taskTitle
)

// NewTask is the form for a task.
type NewTask struct {
	directoryForm
	keys *keys.Map
}

// NewNewTask returns the form, with the cursor in the command.
func NewNewTask(m *keys.Map, cwd string) *NewTask {
	f := &NewTask{keys: m, directoryForm: directoryForm{directory: taskDirectory}}
	f.fields = []field{
		taskCommand:   newField("command", "as in a shell: make test 2>&1", sessions.MaxArgBytes),
		taskDirectory: newField("directory", "an absolute path", sessions.MaxPath),
		taskTitle:     newField("title", "named after the command", sessions.MaxTitle),
	}
	f.fields[taskDirectory].set(cwd)
	f.focus(taskCommand)
	return f
}

// NewTaskAgain returns the form filled in as for t, whose command is to run once more.
func NewTaskAgain(m *keys.Map, t sessions.Task) *NewTask {
	f := NewNewTask(m, t.CWD)
	f.fields[taskCommand].set(commandLine(t))
	f.fields[taskTitle].set(sessions.CleanTitle(t.Title))
	return f
}

// HandleKey takes one key press.
func (f *NewTask) HandleKey(k tea.KeyMsg) Action { return f.handle(f.keys, k, f.accept) }

func (f *NewTask) accept() Action {
	line := f.fields[taskCommand].value()
	if line == "" {
		f.focus(taskCommand)
		f.problem = "which command is to run?"
		return nil
	}
	dir, ok := f.chosen()
	if !ok {
		return nil
	}
	r := sessions.CreateTaskRequest{Title: sessions.CleanTitle(f.fields[taskTitle].value()), CWD: dir}
	if r.Shell = needsShell(line); r.Shell {
		r.Command = []string{line}
	} else {
		r.Command = strings.Fields(line)
	}
	f.busy, f.problem = "starting...", ""
	return TaskWanted{Request: r}
}

// View returns the form as a block.
func (f *NewTask) View(t *style.Theme, w, h int) string {
	return f.block(f.keys, t, "Run a task", w, h)
}

// commandLine spells a task's command as one line that runs the same in a shell.
func commandLine(t sessions.Task) string {
	if t.Shell {
		return strings.Join(t.Command, " ")
	}
	words := make([]string, len(t.Command))
	for i, w := range t.Command {
		words[i] = w
		if w == "" || needsShell(w) || strings.Contains(w, " ") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// NewCancelQuestion returns the question that comes before the cancelling of t.
func NewCancelQuestion(m *keys.Map, t sessions.Task) *Question {
	q := &Question{keys: m, op: OpCancelTask, id: t.ID}
	title := sessions.CleanTitle(t.Title)
	if title == "" {
		title = t.ID.Short()
	}
	q.ask = fmt.Sprintf("Cancel %q?", title)
	q.tell = "All its processes are asked to end, and killed after a while if they do not. Its log stays."
	if t.State == sessions.TaskQueued {
		q.tell = "It has not begun, and never will."
	}
	return q
}

// TaskDetails shows what is known of one task.
type TaskDetails struct {
	page
	task  sessions.Task
	usage *sessions.Usage
	now   time.Time
}

// NewTaskDetails returns the page about t at a moment.
func NewTaskDetails(m *keys.Map, t sessions.Task, now time.Time) *TaskDetails {
	return &TaskDetails{page: page{keys: m}, task: t, now: now}
}

// About returns the task that the page is about.
func (d *TaskDetails) About() sessions.ID { return d.task.ID }

// SetTask replaces the task's facts.
func (d *TaskDetails) SetTask(t sessions.Task, now time.Time) { d.task, d.now = t, now }

// SetUsage tells what the task uses now, while it runs.
func (d *TaskDetails) SetUsage(u sessions.Usage) { d.usage = &u }

// View returns the page as a block.
func (d *TaskDetails) View(t *style.Theme, w, h int) string {
	width := inner(w, 76)
	k := d.task
	badge := status.TaskBadge(k, d.now)
	var lines []string
	fact := func(name, value string) {
		const column = 13
		for i, part := range strings.Split(ansi.Wrap(value, max(width-column, 8), ""), "\n") {
			if i > 0 {
				name = ""
			}
			lines = append(lines, t.Tone(style.Muted).Render(fill(name, column))+part)
		}
	}
	moment := func(name string, at *time.Time) {
		if at != nil {
			fact(name, at.Local().Format(timeLayout))
		}
	}
	fact("state", t.Tone(badge.Tone).Render(badge.Mark+" "+status.TaskState(k, d.now)))
	if note, _ := status.TaskNote(k); note != "" {
		fact("because", note)
	}
	fact("runs", sessions.CleanLine(commandLine(k), 2000))
	fact("directory", sessions.CleanLine(k.CWD, sessions.MaxPath))
	if k.After != "" {
		fact("after", sessions.CleanLine(string(k.After), 64))
	}
	if k.Group != "" {
		fact("group", fmt.Sprintf("%s, %d at once", sessions.CleanLine(k.Group, sessions.MaxGroup), k.GroupLimit))
	}
	fact("created", k.CreatedAt.Local().Format(timeLayout))
	moment("started", k.StartedAt)
	moment("ended", k.EndedAt)
	usage := k.Usage
	if usage == nil {
		usage = d.usage
	}
	if usage != nil {
		fact("cpu", fmt.Sprintf("%.1f s in programs, %.1f s in the system", usage.UserSeconds, usage.SystemSeconds))
		fact("memory", status.Memory(usage.MemoryBytes))
		if usage.ReadBytes > 0 || usage.WrittenBytes > 0 {
			fact("disk", fmt.Sprintf("%s read, %s written", status.Memory(usage.ReadBytes), status.Memory(usage.WrittenBytes)))
		}
		if a := usage.Agent; a != nil {
			fact("agent", fmt.Sprintf("%d turns, %d tokens in, %d out, $%.2f", a.Turns, a.InputTokens, a.OutputTokens, a.CostUSD))
			if a.ConversationID != "" {
				fact("conversation", sessions.CleanLine(a.ConversationID, 100))
			}
		}
	}
	if k.Strays > 0 {
		fact("left behind", fmt.Sprintf("%d processes, which were ended", k.Strays))
	}
	fact("id", sessions.CleanLine(string(k.ID), 64))
	return d.block(t, clip(sessions.CleanTitle(k.Title), width), lines, width, h)
}
