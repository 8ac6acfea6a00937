package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"corral/sessions"
)

const (
	// startTimeout bounds Ensure as a whole. A role answers some 30 ms after its start on an idle machine, also while
	// its PostgreSQL or tmux is still starting.
	startTimeout = 20 * time.Second
	// heldTimeout is how long whoever holds the lock may take until it listens, before it is taken for one that ends.
	heldTimeout = 2 * time.Second
	// maxOutput is the size from which a role's output file begins anew. Only a crash writes there.
	maxOutput = 1 << 20
	// starterFD is the descriptor of the pipe in the child: the first one after standard error.
	starterFD = 3
)

// Role describes a background role and how it is started.
type Role struct {
	Name   string   // for people and on the command line: server, runtime
	Binary string   // path of the corral binary
	Args   []string // arguments; StarterFlag and its value are added
	Socket string   // where the role answers
	Output string   // file for standard output and standard error
	Env    []string // its whole environment
}

// StarterFlag is the flag that tells the child the descriptor of its starter.
const StarterFlag = "--starter-fd"

// Ensure returns when the role answers on its socket, after starting it if need be, or with the reason why it does not.
func (r Role) Ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if r.Answers(ctx) {
			return nil
		}
		said, err := r.start(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return r.failed(err)
		case err != nil:
			return r.late(ctx.Err())
		case said.Error != nil:
			return said.Error
		case said.Ready:
			return nil
		}
		// Another process has the lock: it is starting, or it is ending and the next one is ours.
		if err := r.await(ctx); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return r.late(err)
		}
	}
}

// Answers reports whether somebody listens on the role's socket.
func (r Role) Answers(ctx context.Context) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", r.Socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// start starts the role and waits for its report.
func (r Role) start(ctx context.Context) (report, error) {
	out, err := openOutput(r.Output)
	if err != nil {
		return report{}, err
	}
	defer out.Close()
	before, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return report{}, fmt.Errorf("read %s: %w", r.Output, err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return report{}, fmt.Errorf("make a pipe: %w", err)
	}
	defer reader.Close()

	cmd := exec.Command(r.Binary, append(r.Args, StarterFlag, strconv.Itoa(starterFD))...) //nolint:noctx // it outlives ctx
	cmd.Dir = "/"
	cmd.Env = r.Env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{writer}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		return report{}, fmt.Errorf("start %s: %w", r.Binary, err)
	}
	go func() { _ = cmd.Wait() }()

	stop := context.AfterFunc(ctx, func() { _ = reader.SetReadDeadline(time.Now()) })
	defer stop()
	said, err := readReport(reader)
	if errors.Is(err, io.EOF) {
		return report{}, fmt.Errorf("it ended at once%s", lastWords(out, before))
	}
	if err != nil {
		return report{}, fmt.Errorf("wait for its report: %w", err)
	}
	return said, nil
}

// await waits until somebody listens on the socket. The listener changes the socket's mode after it listens, which is
// the event that ends the wait.
func (r Role) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heldTimeout)
	defer cancel()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch for %s: %w", r.Socket, err)
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(r.Socket)); err != nil {
		return fmt.Errorf("watch for %s: %w", r.Socket, err)
	}
	for {
		if r.Answers(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watcher.Events:
		case err := <-watcher.Errors:
			return fmt.Errorf("watch for %s: %w", r.Socket, err)
		}
	}
}

func (r Role) failed(err error) error {
	return &sessions.Error{
		Code: sessions.CodeUnreachable, Cause: err,
		Message: fmt.Sprintf("the %s could not be started: %v", r.Name, err),
		Hint:    "its output is in " + r.Output,
	}
}

func (r Role) late(err error) error {
	return &sessions.Error{
		Code: sessions.CodeUnreachable, Cause: err,
		Message: fmt.Sprintf("the %s was started and does not answer", r.Name),
		Hint:    "its output is in " + r.Output + " and its log beside it",
	}
}

func openOutput(path string) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxOutput {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}

// lastWords returns the last line that was written to f since the offset, as the end of a sentence.
func lastWords(f *os.File, since int64) string {
	const enough = 4 << 10
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end <= since {
		return ""
	}
	b := make([]byte, min(end-since, enough))
	n, err := f.ReadAt(b, end-int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b[:n])), "\n")
	return ": " + sessions.CleanLine(lines[len(lines)-1], 300)
}
