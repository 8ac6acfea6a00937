package harness

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// SSH is a real OpenSSH server of the test's own, on the loopback, and a wire to it that can be slow and can be cut.
type SSH struct {
	c    *Corral
	dir  string
	wire *wire
}

// SSHServer starts an OpenSSH server with keys of its own that lets the test's user in. Every connection goes through a
// wire that delays each direction by delay.
func (c *Corral) SSHServer(delay time.Duration) *SSH {
	c.T.Helper()
	const sshd = "/usr/sbin/sshd"
	Need(c.T, sshd, "openssh-server")
	Need(c.T, "ssh", "openssh-client")
	s := &SSH{c: c, dir: filepath.Join(c.Dir, "ssh")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		c.T.Fatal(err)
	}
	if os.Getuid() == 0 { // where sshd locks up the part of it that speaks to strangers; gone after each boot
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			c.T.Fatal(err)
		}
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.file(key)).CombinedOutput(); err != nil {
			c.T.Fatalf("make a key: %v: %s", err, out)
		}
	}
	port := freePort(c)
	config := fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s
AuthorizedKeysFile %s
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv HOME=%s
`, port, s.file("host"), s.file("user.pub"), s.c.Home) // the home, since a shell that sshd runs reads files there
	if err := os.WriteFile(s.file("config"), []byte(config), 0o600); err != nil {
		c.T.Fatal(err)
	}
	daemon := exec.Command(sshd, "-D", "-f", s.file("config"), "-E", s.file("log"))
	if err := daemon.Start(); err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		if log, err := os.ReadFile(s.file("log")); err == nil && c.T.Failed() {
			c.T.Logf("sshd said: %s", log)
		}
	})
	target := "127.0.0.1:" + strconv.Itoa(port)
	c.Eventually(Soon, func() error {
		conn, err := net.Dial("tcp", target)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	s.wire = newWire(c, target, delay)
	return s
}

func (s *SSH) file(name string) string { return filepath.Join(s.dir, name) }

// Dashboard opens a terminal of this size with ssh in it, and the dashboard at its other end.
func (s *SSH) Dashboard(cols, rows int) *Term {
	s.c.T.Helper()
	var remote strings.Builder
	remote.WriteString("exec env -i")
	for _, v := range s.c.Env() {
		if !strings.HasPrefix(v, "TERM=") { // which ssh brings
			remote.WriteString(" '" + v + "'")
		}
	}
	remote.WriteString(` TERM="$TERM" ` + s.c.bin)
	cmd := exec.Command("ssh", "-tt", "-q", "-F", "none", "-i", s.file("user"), "-p", strconv.Itoa(s.wire.port()),
		"-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "EscapeChar=none",
		userOfProcess()+"@127.0.0.1", remote.String())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.c.Home, "TERM=xterm-256color", "LANG=C.UTF-8"}
	return Open(s.c.T, cmd, cols, rows)
}

// userOfProcess is the login name of whoever runs the test.
func userOfProcess() string {
	if out, err := exec.Command("id", "-un").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return userName()
}

// Cut breaks every connection.
func (s *SSH) Cut() { s.wire.cut() }

func freePort(c *Corral) int {
	c.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing came
	return l.Addr().(*net.TCPAddr).Port
}

// wire carries TCP connections to target, later.
type wire struct {
	listener net.Listener
	target   string
	delay    time.Duration
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu
}

func newWire(c *Corral, target string, delay time.Duration) *wire {
	c.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	w := &wire{listener: l, target: target, delay: delay, conns: map[net.Conn]bool{}}
	w.wait.Go(w.accept)
	c.T.Cleanup(func() {
		_ = l.Close()
		w.cut()
		w.wait.Wait()
	})
	return w
}

func (w *wire) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.conns[near], w.conns[far] = true, true
		w.mu.Unlock()
		w.wait.Go(func() { w.carry(near, far) })
		w.wait.Go(func() { w.carry(far, near) })
	}
}

// carry copies one direction: each piece goes on when delay has passed since it came, so that pieces may follow each other
// on the way.
func (w *wire) carry(to, from net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	w.wait.Go(func() {
		for p := range pieces {
			<-time.After(time.Until(p.due))
			_, _ = to.Write(p.data) // the reader sees the end
		}
		_ = to.Close()
	})
	defer close(pieces)
	for {
		buf := make([]byte, 16<<10)
		n, err := from.Read(buf)
		if n > 0 {
			pieces <- piece{time.Now().Add(w.delay), buf[:n]}
		}
		if err != nil && err != io.EOF { //nolint:errorlint // as Read says
			_ = to.Close()
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.(*net.TCPConn).SetLinger(0) // at once, and without what is on the way
		_ = c.Close()
		delete(w.conns, c)
	}
}
