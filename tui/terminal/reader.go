package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// pastePause is how long a paste may stall before it counts as over. It is long, since what comes later would be taken
	// for keys, and is there only so that a lost end marker does not take the keyboard away for good.
	pastePause = 10 * time.Second
)

// reader reads the terminal, cuts what it reads into pieces and routes them. One goroutine runs it; it can be stopped
// without a byte being read and lost.
type reader struct {
	fd     int
	lex    lexer
	router *router
	events *events
	reply  func([]byte) // takes the terminal's answers

	held     []byte    // the beginning of a piece
	deadline time.Time // when held is given up; zero: never
	answer   bool      // held is no key: giving up means to drop it

	pasting bool
	paste   []byte
	tooLong bool // of the paste
}

// readLoop owns the goroutine of a reader.
type readLoop struct {
	wakeR, wakeW *os.File
	done         chan struct{}
}

// start runs r until stop.
func (r *reader) start() (*readLoop, error) {
	rd, wr, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe that stops the reader: %w", err)
	}
	l := &readLoop{wakeR: rd, wakeW: wr, done: make(chan struct{})}
	wake := int(rd.Fd())
	r.held, r.deadline = nil, time.Time{} // half a sequence from before a suspension will not be continued
	r.pasting, r.paste = false, nil
	go func() {
		defer close(l.done)
		if err := r.run(wake); err != nil {
			r.events.send(Gone{Err: err})
		}
	}()
	return l, nil
}

// stop ends the goroutine and waits for it.
func (l *readLoop) stop() {
	_ = l.wakeW.Close() // the other end becomes readable
	<-l.done
	_ = l.wakeR.Close()
}

// run reads until wake is readable (nil) or the terminal is gone.
func (r *reader) run(wake int) error {
	buf := make([]byte, 32<<10)
	fds := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
	for {
		switch _, err := unix.Poll(fds, r.timeout()); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for input of the terminal: %w", err)
		case fds[1].Revents != 0:
			return nil
		case fds[0].Revents == 0:
			r.expire()
			continue
		}
		switch n, err := unix.Read(r.fd, buf); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		case n == 0:
			return fmt.Errorf("read the terminal: %w", io.EOF)
		default:
			r.feed(buf[:n])
		}
	}
}

// timeout returns for how many milliseconds poll may wait.
func (r *reader) timeout() int {
	if r.deadline.IsZero() {
		return -1
	}
	return int(max(time.Until(r.deadline)+time.Millisecond-1, 0) / time.Millisecond)
}

// feed takes bytes as they were read.
func (r *reader) feed(b []byte) {
	if len(r.held) > 0 {
		b = append(r.held, b...)
	}
	r.deadline = time.Time{}
	r.router.mu.Lock()
	for len(b) > 0 {
		if r.pasting {
			if b = r.takePaste(b); r.pasting {
				break
			}
			continue
		}
		k, n, hold := r.lex.next(b)
		if n == 0 {
			r.deadline, r.answer = time.Now().Add(hold), hold == holdReply
			break
		}
		r.piece(k, b[:n])
		b = b[n:]
	}
	r.router.flush()
	r.router.mu.Unlock()
	r.held = append(r.held[:0:0], b...)
}

// piece handles one piece. The caller holds the router's lock.
func (r *reader) piece(k kind, b []byte) {
	switch k {
	case kindPasteBegin:
		r.pasting, r.paste, r.tooLong = true, nil, false
		return
	case kindPasteEnd:
		return // of no paste
	case kindReply:
		r.reply(b)
		return
	case kindFocusIn, kindFocusOut:
		r.events.send(Focus{In: k == kindFocusIn})
	case kindKey, kindPrefix, kindMouse, kindPaste:
	}
	r.router.route(k, b)
}

// takePaste collects b up to the end of the paste and returns what it did not use. The caller holds the router's lock.
func (r *reader) takePaste(b []byte) []byte {
	end := bytes.Index(b, []byte(pasteEnd))
	keep := len(b)
	if end >= 0 {
		keep = end
	} else {
		keep -= endsLike(b, pasteEnd)
	}
	if len(r.paste)+keep > MaxPaste {
		r.tooLong, r.paste = true, nil
	}
	if !r.tooLong {
		r.paste = append(r.paste, b[:keep]...)
	}
	if end < 0 {
		r.deadline, r.answer = time.Now().Add(pastePause), false
		return b[keep:]
	}
	r.finishPaste()
	return b[end+len(pasteEnd):]
}

// endsLike returns how many of the last bytes of b are a beginning of marker.
func endsLike(b []byte, marker string) int {
	for n := min(len(marker)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, []byte(marker[:n])) {
			return n
		}
	}
	return 0
}

func (r *reader) finishPaste() {
	p := r.paste
	r.pasting, r.paste = false, nil
	switch {
	case r.tooLong:
		r.events.send(PasteTooLarge{})
	case len(p) > 0:
		r.router.route(kindPaste, p)
	}
}

// expire gives up waiting for the rest of what is held.
func (r *reader) expire() {
	if r.deadline.IsZero() || time.Now().Before(r.deadline) {
		return
	}
	b := r.held
	r.held, r.deadline = nil, time.Time{}
	r.router.mu.Lock()
	defer r.router.mu.Unlock()
	defer r.router.flush()
	if r.pasting {
		r.paste = append(r.paste, b...)
		r.finishPaste()
		return
	}
	if len(b) > 0 && !r.answer {
		r.router.route(kindKey, b)
	}
}
