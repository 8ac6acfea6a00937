package recorder

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/journal"
)

// Limits say what is kept of the journals.
type Limits = journal.Limits

// niceness of compressing: whatever else the machine does comes first.
const niceness = 19

// Compress compresses a closed segment. It is what runs as `corral compress <file>`, and returns the exit status.
func Compress(path string) int {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // it compresses all the same
	if err := journal.Compress(path); err != nil {
		fmt.Fprintln(os.Stderr, "corral compress:", err)
		return 1
	}
	return 0
}
