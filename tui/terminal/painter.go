package terminal

import (
	"sync"
	"time"

	"corral/tui/canvas"
)

const (
	// framePause is the least time between two frames. 4 ms is under what a person sees, over what a chain of tmux needs
	// to answer a key (0.7 ms), and bounds a flood to 250 frames a second.
	framePause = 4 * time.Millisecond
	// pourPause replaces it once frames have come without a pause for pourAfter frames: nobody reads a flood, and drawing
	// less of it leaves the processor to the programs.
	pourPause = 16 * time.Millisecond
	pourAfter = 25
)

// painter writes to the terminal: frames, and the mode changes in between. Its goroutine is the only writer while it
// runs; a terminal that takes nothing blocks only that goroutine.
type painter struct {
	write func([]byte) error
	dead  func(error) // called once when the terminal no longer takes anything

	wake chan struct{} // capacity 1
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	next    *canvas.Canvas // the mailbox of one
	fresh   bool           // next has not been drawn
	control []byte         // mode changes to send before the next frame
	repaint bool
	options canvas.Options

	// Of the goroutine only.
	enc     *canvas.Encoder
	drawing *canvas.Canvas
	buf     []byte
}

func newPainter(o canvas.Options, write func([]byte) error, dead func(error)) *painter {
	return &painter{
		write: write, dead: dead, wake: make(chan struct{}, 1),
		next: canvas.New(1, 1), drawing: canvas.New(1, 1),
		options: o, enc: canvas.NewEncoder(o),
	}
}

// start runs the goroutine, which must not be running; first is sent before anything else.
func (p *painter) start(first []byte) {
	p.mu.Lock()
	p.control = append([]byte(nil), first...)
	p.repaint = true
	p.mu.Unlock()
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	p.notify()
	go p.run(p.stop, p.done)
}

// present puts c's content into the mailbox, in place of a frame that was not drawn yet.
func (p *painter) present(c *canvas.Canvas) {
	cols, rows := c.Size()
	p.mu.Lock()
	*p.next, *c = *c, *p.next
	p.fresh = true
	p.mu.Unlock()
	c.Resize(cols, rows)
	p.notify()
}

func (p *painter) invalidate() {
	p.mu.Lock()
	p.repaint = true
	p.mu.Unlock()
	p.notify()
}

// send queues a change of modes. What is queued is bounded by the callers: changes of a handful of modes.
func (p *painter) send(b []byte) {
	if len(b) == 0 {
		return
	}
	p.mu.Lock()
	p.control = append(p.control, b...)
	p.mu.Unlock()
	p.notify()
}

func (p *painter) syncSupported() {
	p.mu.Lock()
	p.options.Sync = true
	p.mu.Unlock()
}

func (p *painter) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *painter) run(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	pause := time.NewTimer(0)
	<-pause.C
	streak := 0 // frames that had to wait for their slot, in a row
	var last time.Time
	for {
		select {
		case <-stop:
			return
		case <-p.wake:
		}
		slot := framePause
		if streak >= pourAfter {
			slot = pourPause
		}
		if wait := slot - time.Since(last); wait > 0 {
			streak++
			pause.Reset(wait)
			select {
			case <-stop:
				return
			case <-pause.C:
			}
		} else {
			streak = 0
		}
		b := p.frame()
		if len(b) == 0 {
			continue
		}
		last = time.Now()
		if err := p.write(b); err != nil {
			select {
			case <-stop: // Close has cut the write short
			default:
				p.dead(err)
				<-stop
			}
			return
		}
	}
}

// frame returns the bytes of the next frame and of the mode changes before it.
func (p *painter) frame() []byte {
	p.mu.Lock()
	b := append(p.buf[:0], p.control...)
	p.control = p.control[:0]
	fresh, repaint := p.fresh, p.repaint
	if fresh {
		p.next, p.drawing = p.drawing, p.next
	}
	p.fresh, p.repaint = false, false
	p.enc.SetOptions(p.options)
	p.mu.Unlock()

	if repaint {
		p.enc.Invalidate()
	}
	switch {
	case fresh:
		b = p.enc.Append(b, p.drawing)
	case repaint:
		b = p.enc.Repaint(b)
	}
	p.buf = b
	return b
}
