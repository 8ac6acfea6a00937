// Package proof watches over what the documentation claims: the tests that a page names must have run and passed.
//
// It reads what `go test -json` says (cmd/test2json describes the format), prints what go test itself would print, and
// adds one line per page in the form of go test's own lines: ok, or FAIL with the tests that are missing. It has no
// goroutines and no locks.
package proof

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// quoted is a test's name as pages write it.
var quoted = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]*)`")

// Named returns the tests that a page names, each once, in order.
func Named(page string) []string {
	var names []string
	for _, m := range quoted.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// event is one line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string
	Output     string
}

// run is what is known of one package's tests while they run.
type run struct {
	output map[string][]string // of the tests that have not passed
	order  []string            // of those, as they began
}

// Report copies a run of tests from in to out in go test's own words. It returns the top-level tests that passed in
// some package and in none failed or were skipped, and whether everything passed.
func Report(in io.Reader, out io.Writer) (passed map[string]bool, ok bool, err error) {
	passed, ok = map[string]bool{}, true
	spoilt := map[string]bool{}
	runs := map[string]*run{}
	lines := bufio.NewReader(in)
	for {
		line, readErr := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			if _, err := io.WriteString(out, line); err != nil { // a word of the go command itself
				return nil, false, err
			}
		} else {
			top := e.Test != "" && !strings.Contains(e.Test, "/")
			switch {
			case e.Action == "fail" || e.Action == "build-fail":
				ok = false
				spoilt[e.Test] = true
			case e.Action == "skip" && top:
				spoilt[e.Test] = true
			case e.Action == "pass" && top:
				passed[e.Test] = true
			}
			if err := show(out, runs, e); err != nil {
				return nil, false, err
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return nil, false, fmt.Errorf("read the run of tests: %w", readErr)
		}
	}
	for name := range spoilt {
		delete(passed, name)
	}
	return passed, ok, nil
}

// show prints what go test without -v would: the lines of a package, and of its tests those that failed.
func show(out io.Writer, runs map[string]*run, e event) error {
	if e.Action == "build-output" {
		_, err := io.WriteString(out, e.Output)
		return err
	}
	r := runs[e.Package]
	if r == nil {
		r = &run{output: map[string][]string{}}
		runs[e.Package] = r
	}
	switch {
	case e.Action == "output" && e.Test != "":
		if strings.HasPrefix(e.Output, "=== ") {
			return nil
		}
		if _, known := r.output[e.Test]; !known {
			r.order = append(r.order, e.Test)
		}
		r.output[e.Test] = append(r.output[e.Test], e.Output)
	case e.Action == "output":
		// The words about the package come last: before them stands what its tests had to say.
		if e.Output == "PASS\n" {
			return nil
		}
		if err := r.flush(out); err != nil {
			return err
		}
		_, err := io.WriteString(out, e.Output)
		return err
	case (e.Action == "pass" || e.Action == "skip") && e.Test != "":
		delete(r.output, e.Test)
	case e.Action == "fail" && e.Test == "":
		return r.flush(out) // of a package that ended without a word
	}
	return nil
}

// flush prints what the tests said that have not passed until now.
func (r *run) flush(out io.Writer) error {
	for _, test := range r.order {
		for _, line := range r.output[test] {
			if _, err := io.WriteString(out, line); err != nil {
				return err
			}
		}
	}
	r.order, r.output = nil, map[string][]string{}
	return nil
}

// Judge prints, in the form of go test's lines, whether the tests that a page names have passed.
func Judge(out io.Writer, page string, named []string, passed map[string]bool) (ok bool, err error) {
	ok = true
	for _, name := range named {
		if !passed[name] {
			ok = false
			if _, err := fmt.Fprintf(out, "%s names %s, which did not run and pass\n", page, name); err != nil {
				return false, err
			}
		}
	}
	word := "ok  "
	if !ok {
		word = "FAIL"
	}
	_, err = fmt.Fprintf(out, "%s\t%s\t%d tests named\n", word, page, len(named))
	return ok, err
}
