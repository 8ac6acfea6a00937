package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"corral/tui/canvas"
)

// runJob is what the test binary does when a test starts it in a terminal: it shows a picture until it is told how to end.
func runJob(statePath string) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGHUP)
	defer stop()
	t, err := Open(Config{In: os.Stdin, Out: os.Stdout, Env: Env{Term: "xterm-256color"}, StatePath: statePath, Mouse: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer t.Close() //nolint:errcheck // how it went is seen on the terminal
	c := canvas.New(t.Size())
	c.DrawLine(0, 0, 20, "picture")
	t.Present(c)

	keys := make(chan string)
	go func() {
		b := make([]byte, 16)
		for {
			n, err := t.Input().Read(b)
			if err == io.EOF {
				return
			}
			keys <- string(b[:n])
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return 0
		case k := <-keys:
			switch k {
			case "q":
				return 0
			case "p":
				panic("a test of what a panic leaves behind")
			case "\x1a":
				if err := t.StopProcess(); err != nil {
					fmt.Println(err)
				}
			}
		}
	}
}

// shell is an interactive bash with job control, in which jobs are started as a user does.
type shell struct {
	*person
	cmd   *exec.Cmd
	state string
	mark  int
}

func newShell(t *testing.T) *shell {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is missing: install the Debian package bash")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{person: newPerson(t, 80, 24), state: filepath.Join(t.TempDir(), "terminal")}
	s.cmd = exec.Command(bash, "--norc", "--noprofile", "--noediting", "-i")
	s.cmd.Env = []string{"PS1=$ ", "TERM=xterm-256color", "job=" + exe, "CORRAL_TEST_JOB=" + s.state, "PATH=" + os.Getenv("PATH")}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
	s.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// run types a command and waits until it is over.
func (s *shell) run(command string) {
	s.t.Helper()
	s.mark++
	s.types(fmt.Sprintf("%s; echo ma''rk %d\n", command, s.mark))
	s.seesText(fmt.Sprintf("mark %d\r\n", s.mark))
}

// pid returns the process of the job, which its state file tells.
func (s *shell) pid() int {
	s.t.Helper()
	files, err := filepath.Glob(s.state + "*")
	if err != nil || len(files) != 1 {
		s.t.Fatalf("state files %v, error %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		s.t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(b), `{"pid":%d`, &pid); err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// begin starts the job and waits for its picture.
func (s *shell) begin() {
	s.t.Helper()
	s.forget()
	s.types("$job; echo ma''rk end\n")
	s.seesText("picture")
}

// isCooked checks that the line discipline is the user's: what is typed is echoed, lines are lines, ctrl+c interrupts.
func (s *shell) isCooked(after string) {
	s.t.Helper()
	st, err := term.GetState(s.tty.Fd())
	if err != nil {
		s.t.Fatal(err)
	}
	if f := st.Lflag; f&unix.ICANON == 0 || f&unix.ECHO == 0 || f&unix.ISIG == 0 {
		s.t.Errorf("after %s the terminal is raw", after)
	}
}

// TestWaysOut ends a process in every way there is, and looks at what the terminal was sent last.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	signalTo := func(sig unix.Signal) func(*shell) {
		return func(s *shell) {
			if err := unix.Kill(s.pid(), sig); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		end  func(*shell)
	}{
		{"quit", func(s *shell) { s.types("q") }},
		{"panic", func(s *shell) { s.types("p") }},
		{"SIGTERM", signalTo(unix.SIGTERM)},
		{"SIGHUP", signalTo(unix.SIGHUP)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.begin()
			tt.end(s)
			s.seesText("mark end\r\n")
			before, _, _ := strings.Cut(string(s.saw()), "mark end")
			if i := strings.LastIndex(before, altScreenOff); i < 0 || !gaveBack([]byte(before[:i+strings.LastIndex(before[i:], "\x1b[m")+3])) {
				t.Errorf("the terminal was left so: %q", before)
			}
			s.isCooked(tt.name)
			if files, _ := filepath.Glob(s.state + "*"); len(files) != 0 {
				t.Errorf("state files left: %v", files)
			}
		})
	}
}

// TestKilledThenStarted kills a process that nothing can prepare for; the next start cleans up before anything else.
func TestKilledThenStarted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.begin()
	if err := unix.Kill(s.pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.seesText("mark end\r")
	s.begin()
	first, _, _ := strings.Cut(string(s.saw()), altScreenOn)
	if !gaveBack([]byte(first)) {
		t.Errorf("began with %q", first)
	}
	s.types("q")
	s.seesText("mark end\r\n")
	s.isCooked("a start after a kill")
}

// TestStoppedAndContinued stops a process as a user does, and as others may, of which it is not told.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.begin()
	s.forget()
	s.types("\x1a")
	s.seesText("Stopped")
	before, _, _ := strings.Cut(string(s.saw()), "Stopped")
	if i := strings.LastIndex(before, altScreenOff); i < 0 {
		t.Errorf("the terminal was left so: %q", before)
	}
	s.isCooked("ctrl+z")
	s.run("true")
	for _, sig := range []unix.Signal{0, unix.SIGTSTP, unix.SIGSTOP} {
		if sig != 0 {
			if err := unix.Kill(s.pid(), sig); err != nil {
				t.Fatal(err)
			}
			s.seesText("Stopped")
		}
		s.forget()
		s.types("fg\n")
		s.seesText(altScreenOn)
		s.seesText("picture")
		s.forget()
	}
	s.types("q")
	s.seesText("$ ")
	s.isCooked("all that")
}
