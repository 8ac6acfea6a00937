package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"corral/e2e/rounds"
	"corral/runtime/rtapi"
	"corral/runtime/rtclient"
)

// The pipe is armed in the list that starts the program; as a command of its own it comes too late nearly always.
func TestThePipeCatchesTheFirstByte(t *testing.T) {
	t.Parallel()
	b := &bed{}
	fake := newFakeRecorder(t)
	b.start(t, func(dir string) { fake.listen(t, filepath.Join(dir, "run", "recorder.sock")) })
	total := rounds.N(10, 40, 40)
	for i := range total {
		req := b.request(fmt.Sprintf("t%d", i), "")
		// As quick as a program can be: no login shell's profile prints before it.
		req.Argv = []string{"printf", "first-%d-last", fmt.Sprint(i)}
		if _, err := b.Create(deadline(t), req); err != nil {
			t.Fatal(err)
		}
	}
	ctx := deadline(t)
	for i := range total {
		want := fmt.Sprintf("first-%d-last", i)
		for name := fmt.Sprintf("cr-t%d", i); fake.read(name) != want; {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("%s: recorded %q, want %q", name, fake.read(name), want)
			}
		}
	}
}

// fakeRecorder keeps what it is given to read.
type fakeRecorder struct {
	wg sync.WaitGroup
	mu sync.Mutex
	by map[string]*bytes.Buffer // guarded by mu
}

func newFakeRecorder(*testing.T) *fakeRecorder { return &fakeRecorder{by: map[string]*bytes.Buffer{}} }

func (f *fakeRecorder) read(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.by[name]; b != nil {
		return b.String()
	}
	return ""
}

func (f *fakeRecorder) listen(t *testing.T, socket string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	f.wg.Go(func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); f.wg.Wait() })
}

func (f *fakeRecorder) serve(conn *net.UnixConn) {
	defer conn.Close() //nolint:errcheck // a test
	buf, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return
	}
	if string(buf[:n]) == "watch\n" {
		_, _ = fmt.Fprintf(conn, "{\"pid\":%d,\"held\":[]}\n", os.Getpid())
		_, _ = io.ReadAll(conn) // until the runtime ends
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(string(buf[:n]), "handoff "), "\n")
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return
	}
	file := os.NewFile(uintptr(fds[0]), name)
	_, _ = conn.Write([]byte{'k'})
	_ = conn.Close()
	chunk := make([]byte, 4096)
	for {
		n, err := file.Read(chunk)
		f.mu.Lock()
		if f.by[name] == nil {
			f.by[name] = &bytes.Buffer{}
		}
		f.by[name].Write(chunk[:n])
		f.mu.Unlock()
		if err != nil {
			_ = file.Close()
			return
		}
	}
}

func TestNoExitIsLost(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	total := rounds.N(40, 200, 200)
	for i := range total {
		b.create(t, fmt.Sprintf("t%d", i), fmt.Sprintf("exit %d", i))
	}
	inv := b.await(t, "all exits", func(inv rtapi.Inventory) bool {
		for _, x := range inv.Terminals {
			if !x.Dead {
				return false
			}
		}
		return len(inv.Terminals) == total
	})
	for i := range total {
		if got := find(inv, fmt.Sprintf("t%d", i)); got.ExitCode == nil || *got.ExitCode != i%256 {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

// viewer reads a stream until its close, and gives the control frames and the bytes to see.
func viewer(ctx context.Context, conn *websocket.Conn, see func(frame map[string]any, data []byte)) websocket.StatusCode {
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			var c websocket.CloseError
			if errors.As(err, &c) {
				return c.Code
			}
			return -1
		}
		if kind == websocket.MessageBinary {
			see(nil, data)
			continue
		}
		var frame map[string]any
		if err := json.Unmarshal(data, &frame); err == nil {
			see(frame, nil)
		}
	}
}

func TestAViewerSeesAndIsCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "one", "echo hello; read x; echo got $x; exit 4")
	b.awaitScreen(t, "one", "hello")
	conn, err := b.DialStream(deadline(t), "one", "mode=pane&cols=80&rows=24")
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	var screen, live strings.Builder
	var exited map[string]any
	counts := make(chan rtapi.Event, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		_ = b.Events(ctx, func(e rtapi.Event) {
			if e.Type == rtapi.EventViewers {
				counts <- e
			}
		})
	})
	status := viewer(deadline(t), conn, func(frame map[string]any, data []byte) {
		live.Write(data)
		switch frame["type"] {
		case "restore":
			screen.WriteString(fmt.Sprint(frame["screenText"]))
		case "live":
			if err := conn.Write(deadline(t), websocket.MessageBinary, []byte("word\r")); err != nil {
				t.Error(err)
			}
		case rtapi.FrameExited:
			exited = frame
		}
	})
	if status != websocket.StatusNormalClosure || exited["exitCode"] != 4.0 {
		t.Errorf("closed with %d after %v", status, exited)
	}
	if !strings.Contains(screen.String(), "hello") || !strings.Contains(live.String(), "got word") {
		t.Errorf("screen %q, live %q", screen.String(), live.String())
	}
	if e := <-counts; e.ID != "one" || e.Attached+e.Watching != 1 {
		t.Errorf("counted %+v", e)
	}
	cancel()
	following.Wait()

	none, err := b.DialStream(deadline(t), "none", "mode=pane&cols=80&rows=24")
	if err != nil {
		t.Fatal(err)
	}
	if status := viewer(deadline(t), none, func(map[string]any, []byte) {}); status != 4404 {
		t.Errorf("no such terminal: closed with %d", status)
	}
}

func TestTheRuntimesEndClosesStreams(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "one", "sleep 60")
	conn, err := b.DialStream(deadline(t), "one", "mode=preview&cols=80&rows=24")
	if err != nil {
		t.Fatal(err)
	}
	status := viewer(deadline(t), conn, func(frame map[string]any, _ []byte) {
		if frame["type"] == "live" {
			if err := b.Shutdown(deadline(t)); err != nil {
				t.Error(err)
			}
		}
	})
	if status != websocket.StatusGoingAway {
		t.Errorf("closed with %d", status)
	}
	b.stop()
	if _, err := b.DialStream(deadline(t), "one", ""); !errors.Is(err, rtclient.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Status(deadline(t)); !errors.Is(err, rtclient.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// A host that shuts down may end the programs just after it asked us to end: such deaths are nobody's exit.
func TestNothingIsReportedAfterTheEndWasAskedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	term := b.create(t, "one", "sleep 60")
	b.await(t, "it", func(inv rtapi.Inventory) bool { return len(inv.Terminals) == 1 })
	sawDeath := make(chan bool)
	go func() {
		saw := false
		_ = b.Events(t.Context(), func(e rtapi.Event) {
			if e.Inventory != nil && find(*e.Inventory, "one").Dead {
				saw = true
			}
		})
		sawDeath <- saw
	}()
	stopped := make(chan struct{})
	go func() { b.stop(); close(stopped) }()
	<-stopped
	if err := syscall.Kill(term.PanePID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if <-sawDeath {
		t.Error("a death was reported")
	}
}
