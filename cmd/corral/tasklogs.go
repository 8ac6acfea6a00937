package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// logOptions is how logs are to be shown.
type logOptions struct {
	follow     bool
	timestamps bool
	tail       int
	since      string
}

func (p *program) taskLogsCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use: "logs ID...", Aliases: []string{"log"}, Short: "print what tasks have printed", Args: arguments(1, maxTaskArgs),
		Long: "print what tasks have printed: byte by byte where the output is no terminal, else line by line, without what could harm the terminal",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.tail < -1 {
				return usage("--tail wants a number of lines", "as in: --tail 100")
			}
			return p.taskLogs(cmd.Context(), args, o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the tasks have ended")
	f.BoolVar(&o.timestamps, "timestamps", false, "when each line came, before it")
	f.IntVarP(&o.tail, "tail", "n", -1, "only the last so many lines")
	f.StringVar(&o.since, "since", "", "only what came since a time, as 10m or 2026-01-31T15:04:05")
	return cmd
}

func (p *program) taskLogs(ctx context.Context, names []string, o logOptions) error {
	var since time.Time
	if o.since != "" {
		var err error
		if since, err = parseSince(o.since, time.Now()); err != nil {
			return err
		}
	}
	return withTaskServer(ctx, func(ctx context.Context, c *corral, client *sessionclient.Client) error {
		list, err := client.Tasks(ctx)
		if err != nil {
			return err
		}
		var printers []*logPrinter
		var out sync.Mutex
		terminal := term.IsTerminal(p.stdout.Fd())
		for i, name := range names {
			t, err := sessions.ResolveTask(list, name)
			if err != nil {
				return err
			}
			l := &logPrinter{
				corral: c, client: client, task: t, log: client.TaskLog(t.ID), options: o, since: since,
				out: p.stdout, mu: &out, terminal: terminal, raw: !terminal && len(names) == 1 && !o.timestamps && !p.json, errs: p.stderr,
			}
			if len(names) > 1 {
				l.prefix = logPrefix(t, i, terminal)
			}
			printers = append(printers, l)
		}
		if !o.follow {
			for _, l := range printers {
				if err := l.print(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		all, ctx := errgroup.WithContext(ctx)
		for _, l := range printers {
			all.Go(func() error { return l.print(ctx) })
		}
		return all.Wait()
	})
}

// parseSince reads a time, or how long ago.
func parseSince(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage(fmt.Sprintf("%q is no time", sessions.CleanLine(text, 40)), "as in: --since 10m, or --since 2026-01-31T15:04:05")
}

// logPrefix tells the lines of several tasks apart.
func logPrefix(t sessions.Task, i int, colours bool) string {
	title := sessions.CleanLine(t.Title, 16)
	if !colours {
		return fmt.Sprintf("%s %s | ", t.ID.Short(), title)
	}
	return fmt.Sprintf("\x1b[%dm%s %s |\x1b[0m ", 31+i%6, t.ID.Short(), title)
}

// logPrinter prints the log of one task.
type logPrinter struct {
	corral   *corral
	client   *sessionclient.Client
	task     sessions.Task
	log      *sessionclient.TaskLog
	options  logOptions
	since    time.Time
	prefix   string
	terminal bool
	raw      bool // byte by byte

	mu   *sync.Mutex // guards out
	out  io.Writer
	errs io.Writer

	offset   int64 // of what is still to be printed; the begin of part when there is one
	received int64 // where the next byte that comes lies
	part     []byte
	marks    []sessions.LogMark
	marked   int64           // marks are known of what lies before
	ctx      context.Context //nolint:containedctx // of print, for Write
}

// maxLine is how much of a line is held until its end comes.
const maxLine = 64 << 10

// retry is how long to wait for a server that went away.
const retry = 500 * time.Millisecond

func (l *logPrinter) print(ctx context.Context) error {
	l.ctx = ctx
	start, err := l.begin(ctx)
	if err != nil {
		return err
	}
	l.offset, l.received = start, start
	next := start
	for {
		next, err = l.client.FollowLog(ctx, l.task.ID, next, l.options.follow, l, l.cut)
		if err == nil || ctx.Err() != nil || !l.options.follow {
			break
		}
		switch sessions.CodeOf(err) {
		case sessions.CodeUnreachable, sessions.CodeRuntimeUnreachable:
		default:
			return err
		}
		if err := l.corral.ensure(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry):
		}
	}
	if err == nil && len(l.part) > 0 {
		err = l.line(l.part, true)
	}
	return err
}

// begin finds where to begin.
func (l *logPrinter) begin(ctx context.Context) (int64, error) {
	_, info, err := l.log.ReadAt(ctx, nil, 0)
	if err != nil {
		return 0, err
	}
	start := int64(0)
	if !l.since.IsZero() {
		if start, err = l.offsetAt(ctx, info); err != nil {
			return 0, err
		}
	}
	if l.options.tail >= 0 {
		tail, err := l.tailOffset(ctx, info.Size)
		if err != nil {
			return 0, err
		}
		start = max(start, tail)
	}
	return start, nil
}

// offsetAt is where the first byte lies that came at or after since.
func (l *logPrinter) offsetAt(ctx context.Context, info sessions.LogInfo) (int64, error) {
	from := int64(0)
	for {
		marks, err := l.log.Marks(ctx, from)
		if err != nil {
			return 0, err
		}
		for _, m := range marks {
			if !m.At.Before(l.since) {
				return m.Offset, nil
			}
		}
		if len(marks) == 0 || marks[len(marks)-1].Offset <= from {
			return info.Size, nil
		}
		from = marks[len(marks)-1].Offset
	}
}

// tailOffset is where the last lines begin. It reads backwards, so a long log costs no more than a short one.
func (l *logPrinter) tailOffset(ctx context.Context, size int64) (int64, error) {
	const block = 256 << 10
	buf := make([]byte, block)
	missing := l.options.tail
	for end := size; end > 0; {
		begin := max(0, end-block)
		n, info, err := l.log.ReadAt(ctx, buf[:end-begin], begin)
		if err != nil {
			return 0, err
		}
		if int64(n) < end-begin { // part of it was cut out
			return max(begin, info.CutTo), nil
		}
		for i := n - 1; i >= 0; i-- {
			// The line feed at the very end ends the last line, it does not begin another one.
			if buf[i] != '\n' || begin+int64(i) == size-1 {
				continue
			}
			if missing--; missing <= 0 {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	if l.options.tail == 0 {
		return size, nil
	}
	return 0, nil
}

func (l *logPrinter) cut(from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.errs, "%scorral: %d bytes were cut out here by the log's limit\n", l.prefix, to-from)
	l.offset, l.received = to, to
}

// Write takes bytes of the log in order.
func (l *logPrinter) Write(p []byte) (int, error) {
	if l.raw {
		return l.out.Write(p)
	}
	l.received += int64(len(p))
	rest := p
	for len(rest) > 0 {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			l.part = append(l.part, rest...)
			if len(l.part) < maxLine {
				break
			}
			return len(p), l.line(l.part, false)
		}
		l.part = append(l.part, rest[:i+1]...)
		rest = rest[i+1:]
		if err := l.line(l.part, true); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// line prints one line, or a part of a very long one, and empties part.
func (l *logPrinter) line(line []byte, whole bool) error {
	text := string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
	if l.terminal {
		if i := strings.LastIndexByte(text, '\r'); i >= 0 {
			text = text[i+1:] // a progress bar's last state
		}
		text = printable(text, true)
		if strings.Contains(text, "\x1b") {
			text += "\x1b[0m"
		}
	}
	stamp := ""
	if l.options.timestamps {
		at, err := l.at(l.offset)
		if err != nil {
			return err
		}
		stamp = at.Local().Format("2006-01-02T15:04:05.000 ")
	}
	end := ""
	if whole {
		end = "\n"
	}
	l.offset += int64(len(line))
	l.part = l.part[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.out, l.prefix+stamp+text+end)
	return err
}

// at says when the byte at off came: the time of the last mark at or before it.
func (l *logPrinter) at(off int64) (time.Time, error) {
	if off >= l.marked {
		marks, err := l.log.Marks(l.ctx, off)
		if err != nil {
			return time.Time{}, err
		}
		l.marks, l.marked = marks, l.received
	}
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Offset > off })
	if i == 0 {
		return l.task.CreatedAt, nil
	}
	return l.marks[i-1].At, nil
}
