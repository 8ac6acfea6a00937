// Package e2e proves the promises with the built binary, real tmux and real PostgreSQL, driven through a PTY.
package e2e

import (
	"os"
	"testing"

	"corral/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
