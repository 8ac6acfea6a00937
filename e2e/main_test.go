// Package e2e proves the promises with the built binary, real tmux and real PostgreSQL, driven through a PTY.
package e2e

import (
	"os"
	"testing"

	"corral/e2e/harness"
	"corral/e2e/standin"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == standin.Verb {
		os.Exit(standin.Main(os.Args[2:]))
	}
	os.Exit(harness.Main(m))
}
