package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Keeper ends what a test process started, however that process ends: killed and timed-out test runs leave nothing
// behind either. It is a shell that waits on a pipe which only the test process holds open.
type Keeper struct {
	Dir   string // every test's directory lies below it
	alive *os.File
}

// keeper is the shell script. $1 is the directory of the run. A process belongs to the run when its arguments, its
// environment or its working directory name that directory, or the PostgreSQL cluster that a data directory in it names.
const keeper = `
dir=$1
read -r _
marks=$dir/marks
echo "$dir/" >"$marks"
for f in "$dir"/*/d/postgres.path; do
	[ -e "$f" ] && echo "$(dirname "$(cat "$f")")/" >>"$marks"
done
for round in 1 2 3; do
	{
		grep -lasF -f "$marks" /proc/[0-9]*/cmdline /proc/[0-9]*/environ
		find /proc/[0-9]* -maxdepth 1 -name cwd -printf '%p %l/\n' 2>/dev/null | grep -F -f "$marks"
	} | cut -d/ -f3 | sort -u | while read -r pid; do
		case $pid in $$ | $PPID) ;; *) kill -9 "$pid" 2>/dev/null ;; esac
	done
	sleep 0.3
done
while read -r m; do
	case $m in /var/lib/corral/?*) rm -rf "$m" ;; esac
done <"$marks"
[ -e "$dir/keep" ] || rm -rf "$dir"
`

// StartKeeper makes the run's directory and its keeper; call it in TestMain.
func StartKeeper() (*Keeper, error) {
	dir, err := os.MkdirTemp("/tmp", "cr-")
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close() //nolint:errcheck // the keeper has its own copy
	script := filepath.Join(dir, "keeper")
	if err := os.WriteFile(script, []byte(keeper), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", script, dir)
	cmd.Stdin = read
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return &Keeper{Dir: dir, alive: write}, nil
}
