package tmux

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Bounds of what one control client may say. A soft-wrapped line of a full history is the longest line there is
// (20 000 rows of 200 columns with colours); beyond the bounds something is wrong and the connection is dropped.
const (
	maxLine  = 32 << 20
	maxReply = 64 << 20
)

// errNotSent marks a list that was never written, so that it may be tried on the next connection.
var errNotSent = errors.New("not sent")

// oddity is a break of the control protocol: what was read cannot be believed, so the connection must go.
type oddity struct{ what string }

func (o *oddity) Error() string { return "tmux broke the control protocol: " + o.what }

// control is one control client, over the pipes of its process. Two goroutines belong to it: read takes the stream
// apart and ends it at the first error, write hands lines over, so that a tmux that does not read blocks nobody who
// has a deadline. Both have ended when done is closed.
type control struct {
	in    io.WriteCloser
	out   io.ReadCloser
	queue chan *exchange
	stop  chan struct{} // closed to end write
	done  chan struct{} // closed when both goroutines have ended; err is set then

	mu      sync.Mutex
	pending []*exchange // written or being written, oldest first; guarded by mu
	err     error       // why it ended; guarded by mu, final once done is closed
}

// exchange is one list of commands and its replies. A line of its own that prints word closes it: no program in a pane
// can know the word, so no captured text can pass for the end of an exchange or for the replies of the next.
type exchange struct {
	line    string
	names   []string
	word    string // empty for the greeting, which ends with its one block
	replies []Reply
	bytes   int
	done    chan struct{}
}

// newControl starts a control client's goroutines. The first block of a client is the reply to the command that
// attached it: greeting carries it.
func newControl(in io.WriteCloser, out io.ReadCloser) (c *control, greeting *exchange) {
	greeting = &exchange{names: []string{"attach"}, done: make(chan struct{})}
	c = &control{
		in: in, out: out,
		queue:   make(chan *exchange),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		pending: []*exchange{greeting},
	}
	go func() {
		var writer sync.WaitGroup
		writer.Go(c.write)
		c.fail(c.read())
		close(c.stop)
		_ = c.in.Close() // unblocks a write in progress; there is nobody to tell
		writer.Wait()
		close(c.done)
	}()
	return c, greeting
}

// run executes list as one line.
func (c *control) run(ctx context.Context, list []Command) ([]Reply, error) {
	text, err := line(list)
	if err != nil {
		return nil, err
	}
	ex := &exchange{word: rand.Text(), done: make(chan struct{})}
	for _, cmd := range list {
		ex.names = append(ex.names, cmd[0])
	}
	ex.line = text + "\ndisplay-message -p " + ex.word + "\n"
	select {
	case c.queue <- ex:
	case <-c.stop:
		return nil, fmt.Errorf("%w: %w", errNotSent, c.failure())
	case <-ctx.Done():
		return nil, fmt.Errorf("tmux %s: %w", ex.names[0], context.Cause(ctx))
	}
	return c.await(ctx, ex)
}

// hangUp ends both goroutines and waits for them. The client's process does not suffice for that: tmux hands its
// descriptors to the server, which keeps them open while it is stopped.
func (c *control) hangUp() {
	_ = c.in.Close() // both may be closed already
	_ = c.out.Close()
	<-c.done
}

// await waits for the end of ex. When ctx ends first the commands may still run; their replies are read and dropped.
func (c *control) await(ctx context.Context, ex *exchange) ([]Reply, error) {
	select {
	case <-ex.done:
	case <-c.done:
		select {
		case <-ex.done: // both at once: the replies count
		default:
			return nil, c.failure()
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("tmux %s: %w", ex.names[0], context.Cause(ctx))
	}
	if n := len(ex.replies); n > 0 && ex.replies[n-1].Err != nil {
		return ex.replies, ex.replies[n-1].Err
	}
	return ex.replies, nil
}

func (c *control) write() {
	for {
		select {
		case <-c.stop:
			return
		case ex := <-c.queue:
			c.mu.Lock()
			c.pending = append(c.pending, ex)
			c.mu.Unlock()
			if _, err := io.WriteString(c.in, ex.line); err != nil {
				c.fail(fmt.Errorf("write to tmux: %w", err))
				_ = c.in.Close() // tmux ends a client whose input ends, and with it read
				return
			}
		}
	}
}

// read takes the stream apart until it ends or cannot be believed.
func (c *control) read() error {
	r := &lineReader{r: bufio.NewReaderSize(c.out, 64<<10)}
	for {
		text, err := r.next()
		if err != nil {
			return err
		}
		guard, isBegin := strings.CutPrefix(text, "%begin ")
		switch {
		case isBegin:
			if err := c.block(r, guard); err != nil {
				return err
			}
		case strings.HasPrefix(text, "%exit"):
			return fmt.Errorf("tmux ended the connection: %s", strings.TrimPrefix(text, "%"))
		case strings.HasPrefix(text, "%end "), strings.HasPrefix(text, "%error "):
			return &oddity{"a reply ended that had not begun"}
		case strings.HasPrefix(text, "%"): // a notification; hooks tell what we need
		default:
			return &oddity{"text outside a reply"}
		}
	}
}

// block reads one reply up to its end, which must repeat the whole triple (time, number, flags) of its beginning.
func (c *control) block(r *lineReader, guard string) error {
	var lines []string
	size := 0
	for {
		text, err := r.next()
		if err != nil {
			return err
		}
		switch text {
		case "%end " + guard:
			return c.finish(lines, size, false)
		case "%error " + guard:
			return c.finish(lines, size, true)
		}
		size += len(text) + 1
		if size > maxReply {
			return &oddity{"a reply without end"}
		}
		lines = append(lines, text)
	}
}

// finish books one block on the oldest pending exchange.
func (c *control) finish(lines []string, size int, failed bool) error {
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.mu.Unlock()
		return &oddity{"a reply to nothing"}
	}
	ex := c.pending[0]
	c.mu.Unlock()

	closes := ex.word != "" && !failed && len(lines) == 1 && lines[0] == ex.word
	if !closes {
		n := len(ex.replies)
		if n == len(ex.names) || n > 0 && ex.replies[n-1].Err != nil {
			return &oddity{"more replies than commands"}
		}
		ex.bytes += size
		if ex.bytes > maxReply {
			return &oddity{"replies without end"}
		}
		reply := Reply{Lines: lines}
		if failed {
			reply.Err = refusal(ex.names[n], lines)
		}
		ex.replies = append(ex.replies, reply)
		if ex.word != "" {
			return nil
		}
	}
	n := len(ex.replies)
	if n < len(ex.names) && (n == 0 || ex.replies[n-1].Err == nil) {
		return &oddity{"fewer replies than commands"}
	}
	c.mu.Lock()
	c.pending = c.pending[1:]
	c.mu.Unlock()
	close(ex.done)
	return nil
}

// refusal makes an Error of a failed command's output. A line that does not parse fails as a whole, before its first
// command, whose name it then gets.
func refusal(name string, lines []string) *Error {
	text := strings.Join(lines, "; ")
	if text == "" {
		text = "refused without a reason"
	}
	return &Error{Command: name, Message: text}
}

func (c *control) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *control) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return ErrDown
	}
	return fmt.Errorf("%w: %w", ErrDown, c.err)
}

// lineReader reads lines of bounded length.
type lineReader struct{ r *bufio.Reader }

func (l *lineReader) next() (string, error) {
	var long []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			if len(long) > maxLine {
				return "", &oddity{"a line without end"}
			}
			continue
		}
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("tmux closed the connection: %w", err)
		}
		if err != nil {
			return "", fmt.Errorf("read from tmux: %w", err)
		}
		part = part[:len(part)-1]
		if long == nil {
			return string(part), nil
		}
		return string(append(long, part...)), nil
	}
}
