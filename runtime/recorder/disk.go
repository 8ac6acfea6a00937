package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"corral/runtime/internal/journal"
)

const (
	// stallLimit is how long one record may take before the disk is no longer waited for.
	stallLimit = time.Second
	// maxQueued is how many bytes wait for a stalled disk.
	maxQueued = 16 << 20
	// retryEvery is how often a disk that is full is tried again.
	diskRetry = time.Second
	// checkEvery is after how many bytes the free space is looked at.
	checkEvery = 4 << 20
	// expireEvery is how often old segments are looked for.
	expireEvery = time.Hour
)

// op is a thing to do with a session's journal.
type op struct {
	id     string
	record *journal.Record
	data   []byte // becomes the record's payload, if it is not nil
	slot   int    // is told what is about to be appended
	noted  bool   // the slot is a pipe's: the sequence and the length of data
	number int64  // the slot is a client's: this number of its message and the sequence; 0 when it is not
	remove bool   // the whole journal, instead
	done   chan struct{}
}

func (o op) size() int64 {
	n := int64(len(o.data)) + 256
	if o.record != nil {
		n += int64(len(o.record.Payload) + len(o.record.ANSI))
	}
	return n
}

// disk writes the journals. append is called by one goroutine at a time, the one that has worker.mu.
type disk struct {
	cfg   WorkerConfig
	log   *slog.Logger
	slots slots
	warn  func(string)
	limit *time.Timer // of append's caller

	ops      chan op
	stalled  atomic.Bool
	queued   atomic.Int64
	closed   chan string // segments to be compressed
	warnings chan string
	idles    chan string // sessions whose pipe has ended

	mu   sync.Mutex
	lost map[string]lost  // what could not be queued; guarded by mu
	seen map[string]int64 // the last sequence; guarded by mu

	// Of run's goroutine.
	open     map[string]*journal.Writer
	missing  map[string]lost // what could not be written
	free     int64           // bytes until the free space is looked at
	full     bool
	retryAt  time.Time
	impaired string
}

// lost is what will be written as a gap.
type lost struct {
	bytes int64
	why   string
}

func newDisk(cfg WorkerConfig, memory slots, warn func(string)) *disk {
	d := &disk{
		cfg: cfg, log: cfg.Log, slots: memory, warn: warn, limit: time.NewTimer(time.Hour),
		ops: make(chan op, 4096), closed: make(chan string, 256), idles: make(chan string, 256), warnings: make(chan string, 16),
		lost: map[string]lost{}, seen: map[string]int64{},
		open: map[string]*journal.Writer{}, missing: map[string]lost{},
	}
	d.limit.Stop()
	return d
}

func (d *disk) dir(id string) string { return filepath.Join(d.cfg.Dir, id) }

// append has o done, and waits for that unless the disk is stalled. It reports whether o.data may be used again.
func (d *disk) append(o op) (reusable bool) {
	size := o.size()
	o.done = make(chan struct{})
	if d.stalled.Load() {
		if d.queued.Add(size) > maxQueued || len(d.ops) == cap(d.ops) {
			d.queued.Add(-size)
			d.mu.Lock()
			d.lost[o.id] = lost{d.lost[o.id].bytes + int64(len(o.data)), "the disk was too slow"}
			d.mu.Unlock()
			return true
		}
		d.ops <- o
		return false
	}
	d.queued.Add(size)
	d.ops <- o // there is room: nothing else waits
	d.limit.Reset(stallLimit)
	select {
	case <-o.done:
		d.limit.Stop()
		return true
	case <-d.limit.C:
		d.stalled.Store(true)
		return false
	}
}

// last returns the last sequence of a session.
func (d *disk) last(id string) int64 {
	d.mu.Lock()
	n, known := d.seen[id]
	d.mu.Unlock()
	if known {
		return n
	}
	r, err := journal.Newest(d.dir(id), journal.Kinds()...)
	if err != nil || r == nil {
		return 0
	}
	return r.Sequence
}

// idle lets a session's journal be closed.
func (d *disk) idle(id string) {
	select {
	case d.idles <- id:
	default: // it stays open
	}
}

// run writes until ctx ends and everything that was queued is written.
func (d *disk) run(ctx context.Context) {
	var helpers sync.WaitGroup
	helpers.Go(func() { d.compress(ctx) })
	helpers.Go(func() { d.announce(ctx) })
	defer helpers.Wait()
	retry := time.NewTicker(diskRetry)
	defer retry.Stop()
	retry.Stop()
	every := time.NewTicker(expireEvery)
	defer every.Stop()
	d.expire()
	for {
		select {
		case o := <-d.ops:
			d.finish(o)
		case <-every.C:
			d.expire()
		case id := <-d.idles:
			if w := d.open[id]; w != nil {
				_ = w.Close() // what was written is written
				delete(d.open, id)
			}
		case <-retry.C:
			d.resume()
		case <-ctx.Done():
			for {
				select {
				case o := <-d.ops:
					d.finish(o)
					continue
				default:
				}
				d.resume()
				for _, w := range d.open {
					_ = w.Close() // likewise
				}
				return
			}
		}
		if d.calm() {
			retry.Stop()
		} else {
			retry.Reset(diskRetry)
		}
	}
}

// finish does o.
func (d *disk) finish(o op) {
	if o.remove {
		d.removeAll(o.id)
	} else {
		d.write(o)
	}
	d.queued.Add(-o.size())
	close(o.done)
}

// calm notices that a stall is over, and reports whether nothing waits to be written.
func (d *disk) calm() bool {
	if len(d.ops) > 0 {
		return true // the next one tells
	}
	d.stalled.Store(false)
	d.mu.Lock()
	for id, l := range d.lost {
		d.missing[id] = lost{d.missing[id].bytes + l.bytes, l.why}
		delete(d.lost, id)
	}
	d.mu.Unlock()
	return len(d.missing) == 0 && d.impaired == ""
}

// write appends o's record, after the gap if something is missing before it.
func (d *disk) write(o op) {
	if o.data != nil {
		o.record.SetData(o.data)
	}
	n := int64(len(o.data))
	if n == 0 {
		n = int64(len(o.record.Payload))
	}
	if d.full && time.Now().Before(d.retryAt) {
		d.miss(o.id, n, d.missing[o.id].why)
		return
	}
	err := d.space(n)
	if err == nil {
		err = d.fill(o.id)
	}
	if err == nil && o.record.Kind == journal.Exit && d.ended(o.id) {
		return // a runtime that starts tells of all ends that it finds
	}
	if err == nil {
		err = d.put(o)
	}
	if err != nil {
		d.fail(o.id, n, err)
		return
	}
	d.recovered()
}

// put appends one record.
func (d *disk) put(o op) error {
	w := d.open[o.id]
	if w == nil {
		var err error
		w, err = journal.OpenWriter(d.dir(o.id), o.id, journal.Options{Segment: d.cfg.Segment, Closed: d.segmentClosed})
		if err != nil {
			return err
		}
		d.open[o.id] = w
	}
	if o.number > 0 {
		if err := d.slots.set(o.slot, o.number, w.Last()+1); err != nil {
			return err
		}
	}
	if o.noted {
		if err := d.slots.set(o.slot, w.Last()+1, int64(len(o.data))); err != nil {
			return err
		}
	}
	if err := w.Append(o.record); err != nil {
		return err
	}
	d.mu.Lock()
	d.seen[o.id] = w.Last()
	d.mu.Unlock()
	return nil
}

// ended reports whether the newest start or end of a session is an end.
func (d *disk) ended(id string) bool {
	r, err := journal.Newest(d.dir(id), journal.Start, journal.Exit)
	return err == nil && r != nil && r.Kind == journal.Exit
}

// fill writes the gap for what is missing.
func (d *disk) fill(id string) error {
	l, gap := d.missing[id]
	if !gap {
		return nil
	}
	r := &journal.Record{Kind: journal.Gap, Details: journal.Details{Bytes: l.bytes, Why: l.why}}
	if err := d.put(op{id: id, record: r}); err != nil {
		return err
	}
	delete(d.missing, id)
	return nil
}

// space makes sure of the free space that is to stay.
func (d *disk) space(n int64) error {
	if d.free -= n; d.free > 0 && !d.full {
		return nil
	}
	d.free = checkEvery
	if journal.Enough(d.cfg.Dir, d.cfg.Limits) {
		return nil
	}
	if _, err := journal.Expire(d.cfg.Dir, d.cfg.Limits, time.Now(), func(string) bool { return true }); err != nil {
		d.log.Warn("old segments not removed", "err", err)
	}
	if journal.Enough(d.cfg.Dir, d.cfg.Limits) {
		return nil
	}
	return errFull
}

var errFull = errors.New("the disk has less free than journal.min_free") //nolint:gochecknoglobals // a constant

// fail notes that a record could not be written.
func (d *disk) fail(id string, n int64, err error) {
	why := "it could not be written: " + reason(err)
	if errors.Is(err, errFull) {
		why = err.Error()
	} else if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		why = "the disk is full"
	}
	d.miss(id, n, why)
	d.full, d.retryAt = true, time.Now().Add(diskRetry)
	if d.impaired != why {
		d.impaired = why
		d.log.Error("not recorded", "id", id, "err", err)
		d.say("sessions are not recorded: " + why)
	}
}

func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func (d *disk) miss(id string, n int64, why string) {
	if why == "" {
		why = d.impaired
	}
	d.missing[id] = lost{d.missing[id].bytes + n, why}
}

func (d *disk) recovered() {
	d.full = false
	if d.impaired != "" {
		d.impaired = ""
		d.log.Info("recorded again")
		d.say("")
	}
}

// say has a warning announced; when nobody takes them there are too many to matter.
func (d *disk) say(text string) {
	select {
	case d.warnings <- text:
	default:
	}
}

// resume tries to write what is missing.
func (d *disk) resume() {
	if d.impaired != "" && !journal.Enough(d.cfg.Dir, d.cfg.Limits) {
		return
	}
	for id := range d.missing {
		if err := d.fill(id); err != nil {
			d.fail(id, 0, err)
			return
		}
	}
	d.recovered()
}

// removeAll forgets a journal.
func (d *disk) removeAll(id string) {
	if w := d.open[id]; w != nil {
		_ = w.Close() // it goes
	}
	delete(d.open, id)
	d.mu.Lock()
	delete(d.seen, id)
	d.mu.Unlock()
	delete(d.missing, id)
	if err := os.RemoveAll(d.dir(id)); err != nil {
		d.log.Error("journal not removed", "id", id, "err", err)
	}
}

func (d *disk) segmentClosed(path string) {
	select {
	case d.closed <- path:
	default: // found when old segments are looked for
	}
}

// compress runs one child at a time: it takes the memory and the time that compressing needs, and is nice.
func (d *disk) compress(ctx context.Context) {
	for {
		select {
		case path := <-d.closed:
			if err := d.child(ctx, path); err != nil && ctx.Err() == nil {
				d.log.Warn("segment not compressed", "path", path, "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// CompressVerb is the argument with which WorkerConfig.Self compresses the file that follows.
const CompressVerb = "compress"

func (d *disk) child(ctx context.Context, path string) error {
	if d.cfg.Self == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // it was removed, or is compressed
	}
	out, err := exec.CommandContext(ctx, d.cfg.Self, CompressVerb, path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %.200q", err, out)
	}
	return nil
}

// expire removes what is old, and finds what was not compressed.
func (d *disk) expire() {
	freed, err := journal.Expire(d.cfg.Dir, d.cfg.Limits, time.Now(), func(id string) bool { return d.open[id] != nil })
	if err != nil {
		d.log.Warn("old segments not removed", "err", err)
	}
	if freed > 0 {
		d.log.Info("old segments removed", "bytes", freed)
	}
	paths, err := journal.Unpacked(d.cfg.Dir)
	if err != nil {
		d.log.Warn("segments not listed", "err", err)
	}
	for _, path := range paths {
		d.segmentClosed(path)
	}
}

// announce tells the warnings one after the other. Not the appender: append's caller holds what warn needs.
func (d *disk) announce(ctx context.Context) {
	for {
		select {
		case text := <-d.warnings:
			d.warn(text)
		case <-ctx.Done():
			return
		}
	}
}
