// Package program writes the programs that tests run. A child that is forked while a program's file is open for writing
// holds it open until its own exec, and the kernel refuses to run such a file ("text file busy"); in a test process
// somebody forks all the time.
package program

import (
	"os"
	"syscall"
	"testing"
)

// Write writes an executable file while nobody in this process forks.
func Write(t testing.TB, path string, text []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, text, 0o755) //nolint:gosec // a program; other users run some
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
