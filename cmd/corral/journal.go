package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) journalCommand() *cobra.Command {
	var since, until string
	var q sessions.JournalQuery
	var text, cast bool
	cmd := &cobra.Command{
		Use:   "journal ID",
		Short: "print what a session read and printed, with everything that happened to it",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if q.Since, err = moment("--since", since); err != nil {
				return err
			}
			if q.Until, err = moment("--until", until); err != nil {
				return err
			}
			if text && cast || p.json && (text || cast) {
				return usage("--json, --text and --asciicast exclude each other", "choose one")
			}
			return withServer(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				s, err := findRecorded(ctx, client, args[0])
				if err != nil {
					return err
				}
				var out recordPrinter = journalLines{p}
				switch {
				case text:
					out = &journalText{p: p}
				case cast:
					out = &asciicast{p: p, title: s.Title}
				case p.json && q.Follow:
					out = journalStream{p}
				case p.json:
					out = &journalArray{p: p}
				}
				if err := client.Journal(ctx, s.ID, q, out.print); err != nil {
					return err
				}
				return out.end()
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&since, "since", "", "from this time on: 2006-01-02T15:04:05Z, or a duration ago as 10m")
	f.StringVar(&until, "until", "", "up to this time")
	f.StringArrayVar(&q.Kinds, "kind", nil, "only records of this kind; may be given several times")
	f.BoolVar(&text, "text", false, "only what was printed, as text")
	f.BoolVar(&cast, "asciicast", false, "as a recording that asciinema plays")
	f.BoolVar(&q.Follow, "follow", false, "go on with what happens next, until interrupted")
	return cmd
}

// findRecorded finds the session that the user named. One that was removed is found by its whole id: its journal may have
// been kept.
func findRecorded(ctx context.Context, client *sessionclient.Client, name string) (sessions.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := find(ctx, client, name)
	if errors.Is(err, sessions.ErrNotFound) && wholeID(name) {
		return sessions.Session{ID: sessions.ID(name), Title: name}, nil
	}
	return s, err
}

func wholeID(name string) bool {
	return len(name) == len("01234567-89ab-cdef-0123-456789abcdef") && strings.Trim(name, "0123456789abcdef-") == ""
}

// recordPrinter prints the records of a journal, one after the other.
type recordPrinter interface {
	print(r sessions.JournalRecord) error
	end() error // after the last one
}

// journalLines prints a line for people for each record.
type journalLines struct{ p *program }

func (j journalLines) print(r sessions.JournalRecord) error {
	_, err := fmt.Fprintln(j.p.stdout, journalLine(r))
	return err
}

func (journalLines) end() error { return nil }

// journalStream prints one JSON value per record.
type journalStream struct{ p *program }

func (j journalStream) print(r sessions.JournalRecord) error { return j.p.printLine(r) }

func (journalStream) end() error { return nil }

// journalArray prints one JSON value of all records, as they come: a journal may be larger than memory.
type journalArray struct {
	p     *program
	begun bool
}

func (j *journalArray) print(r sessions.JournalRecord) error {
	before := "["
	if j.begun {
		before = ","
	}
	j.begun = true
	if _, err := fmt.Fprint(j.p.stdout, before); err != nil {
		return err
	}
	return j.p.printLine(r)
}

func (j *journalArray) end() error {
	last := "]"
	if !j.begun {
		last = "[]"
	}
	_, err := fmt.Fprintln(j.p.stdout, last)
	return err
}

// moment reads a time, or a duration before now.
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateTime, text, time.Local); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	return time.Time{}, usage(flag+" wants a time", "as 2006-01-02T15:04:05Z, \"2006-01-02 15:04:05\", or 10m for ten minutes ago")
}

// journalLine is a record for people.
func journalLine(r sessions.JournalRecord) string {
	const most = 120
	var what string
	switch r.Kind {
	case "input", "output":
		data, err := r.Data()
		quoted := []rune(fmt.Sprintf("%q", data))
		switch {
		case err != nil:
			what = "(broken)"
		case r.Redacted:
			what = fmt.Sprintf("(%d bytes at a password prompt)", r.Bytes)
		case len(quoted) > most:
			what = fmt.Sprintf("%s... (%d bytes)", string(quoted[:most]), len(data))
		default:
			what = string(quoted)
		}
	case "resize", "snapshot":
		what = fmt.Sprintf("%dx%d", r.Cols, r.Rows)
	case "start":
		what = fmt.Sprintf("%q", r.Argv)
	case "exit":
		switch {
		case r.Signal != nil:
			what = fmt.Sprintf("signal %d", *r.Signal)
		case r.Code != nil:
			what = fmt.Sprintf("code %d", *r.Code)
		}
	case "gap":
		what = r.Why
		if r.Bytes > 0 {
			what += fmt.Sprintf(" (%d bytes)", r.Bytes)
		}
	case "hook":
		what = r.Name + " " + r.Evidence
	}
	return fmt.Sprintf("%s  %8d  %-8s  %s", r.Time.Local().Format("2006-01-02 15:04:05.000"), r.Sequence, sessions.CleanLine(r.Kind, 20), sessions.CleanLine(what, 400))
}

// journalText prints what a program printed, line by line, without whatever could do more than show.
type journalText struct {
	p    *program
	line string
}

func (j *journalText) print(r sessions.JournalRecord) error {
	if r.Kind == "gap" {
		return j.p.printLines([]string{j.rest() + "(something is missing here: " + r.Why + ")"}, false)
	}
	if r.Kind == "exit" && j.line != "" {
		return j.p.printLines([]string{j.rest()}, false)
	}
	if r.Kind != "output" {
		return nil
	}
	data, err := r.Data()
	if err != nil {
		return err
	}
	lines := strings.Split(j.rest()+string(data), "\n")
	j.line = lines[len(lines)-1]
	if len(lines) == 1 {
		return nil
	}
	return j.p.printLines(lines[:len(lines)-1], false)
}

// end prints what has no end of line yet.
func (j *journalText) end() error {
	if j.line == "" {
		return nil
	}
	return j.p.printLines([]string{j.rest()}, false)
}

func (j *journalText) rest() string {
	line := j.line
	j.line = ""
	return line
}

// asciicast prints a recording of version 2 (https://docs.asciinema.org/manual/asciicast/v2/).
type asciicast struct {
	p     *program
	title string
	begun time.Time
	cols  int
	rows  int
}

func (a *asciicast) print(r sessions.JournalRecord) error {
	if a.begun.IsZero() {
		a.begun, a.cols, a.rows = r.Time, 80, 24
		if r.Cols > 0 && r.Rows > 0 {
			a.cols, a.rows = r.Cols, r.Rows
		}
		header := map[string]any{
			"version": 2, "width": a.cols, "height": a.rows, "timestamp": r.Time.Unix(), "title": sessions.CleanTitle(a.title),
		}
		if err := a.event(header); err != nil {
			return err
		}
	}
	code, data := "", ""
	switch r.Kind {
	case "output", "input":
		if r.Redacted {
			return nil
		}
		p, err := r.Data()
		if err != nil {
			return err
		}
		code, data = r.Kind[:1], strings.ToValidUTF8(string(p), "\ufffd")
	case "resize":
		code, data = "r", fmt.Sprintf("%dx%d", r.Cols, r.Rows)
	default:
		return nil
	}
	return a.event([]any{r.Time.Sub(a.begun).Seconds(), code, data})
}

func (*asciicast) end() error { return nil }

func (a *asciicast) event(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a recording: %w", err)
	}
	_, err = fmt.Fprintf(a.p.stdout, "%s\n", b)
	return err
}
