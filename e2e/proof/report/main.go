// Command report reads `go test -json` from its standard input, prints it as go test does, and fails when a test failed
// or when one that a page names did not run and pass: report PAGE...
package main

import (
	"fmt"
	"io"
	"os"

	"corral/e2e/proof"
)

func main() {
	ok, err := report(os.Stdin, os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func report(in io.Reader, out io.Writer, pages []string) (bool, error) {
	passed, ok, err := proof.Report(in, out)
	if err != nil {
		return false, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return false, fmt.Errorf("read the page: %w", err)
		}
		kept, err := proof.Judge(out, page, proof.Named(string(text)), passed)
		if err != nil {
			return false, err
		}
		ok = ok && kept
	}
	if !ok {
		_, err = fmt.Fprintln(out, "FAIL")
	}
	return ok, err
}
