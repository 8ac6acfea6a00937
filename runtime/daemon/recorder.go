package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"corral/runtime/recorder"
)

const (
	// recorderStart is how long a recorder may take until it listens.
	recorderStart = 5 * time.Second
	// recorderLook is how often a starting one is looked for; its socket gives no event before its directory is there.
	recorderLook = 20 * time.Millisecond
	// The pauses between attempts.
	recorderPauseMin, recorderPauseMax = 200 * time.Millisecond, 5 * time.Second
)

// recorderKeeper keeps a recorder alive and all panes piped to it. The recorder outlives the runtime, so what is found
// running is taken as it is.
type recorderKeeper struct {
	self   string
	socket string
	env    []string
	repipe func(ctx context.Context, held []string) error
	warn   func(text string) // is told when there is no recorder for long, and "" when there is one again
	log    *slog.Logger

	mu      sync.Mutex
	current int // pid of the recorder, 0 while there is none; guarded by mu
}

func (k *recorderKeeper) pid() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

func (k *recorderKeeper) setPID(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current = pid
}

// run finds or starts the recorder, gives it what it lacks, waits for its end, and does so again until ctx ends.
func (k *recorderKeeper) run(ctx context.Context) error {
	pause, warned := recorderPauseMin, false
	for {
		lasted := false
		w, err := k.reach(ctx)
		if err != nil && pause == recorderPauseMax && ctx.Err() == nil {
			k.warn("sessions are not recorded: the recorder does not start; corral logs recorder may say why")
			warned = true
		}
		if err == nil {
			if warned {
				k.warn("")
				warned = false
			}
			since := time.Now()
			k.setPID(w.PID)
			k.log.Info("recorder found", "pid", w.PID, "held", len(w.Held))
			k.pipeAll(ctx, w)
			k.setPID(0)
			lasted = time.Since(since) > recorderPauseMax
		}
		if ctx.Err() != nil {
			return nil
		}
		if lasted { // at once: every moment without one is a gap
			k.log.Warn("recorder lost")
			pause = recorderPauseMin
			continue
		}
		k.log.Warn("recorder lost", "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, recorderPauseMax)
	}
}

// pipeAll pipes what the recorder does not hold to it and returns when the recorder or ctx ends.
func (k *recorderKeeper) pipeAll(ctx context.Context, w *recorder.Watch) {
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	var piping sync.WaitGroup
	piping.Go(func() {
		for {
			err := k.repipe(alive, w.Held)
			if err == nil || alive.Err() != nil {
				return
			}
			k.log.Warn("terminals not piped", "err", err)
			select {
			case <-time.After(recorderPauseMin):
			case <-alive.Done():
			}
		}
	})
	w.Wait(ctx)
	cancel()
	piping.Wait()
}

// reach returns a connection to the recorder, which it starts if none answers.
func (k *recorderKeeper) reach(ctx context.Context) (*recorder.Watch, error) {
	if w, err := recorder.Dial(ctx, k.socket); err == nil {
		return w, nil
	}
	cmd := exec.Command(k.self, "recorder") //nolint:noctx // it outlives us
	cmd.Env = k.env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the recorder: %w", err)
	}
	ended := make(chan struct{})
	go func() { // for as long as the recorder lives, which may be longer than we do
		_ = cmd.Wait() // its log says why
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, recorderStart)
	defer cancel()
	look := time.NewTicker(recorderLook)
	defer look.Stop()
	for {
		w, err := recorder.Dial(ctx, k.socket)
		if err == nil {
			return w, nil
		}
		select {
		case <-look.C:
		case <-ended: // another one may hold the lock: look once more
			return recorder.Dial(ctx, k.socket)
		case <-ctx.Done():
			return nil, fmt.Errorf("start the recorder: %w", err)
		}
	}
}
