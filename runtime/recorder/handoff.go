package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// ack is the byte that says that the recorder has the descriptor.
const ack = 'k'

const (
	handoffTimeout = 5 * time.Second       // how long a missing recorder is waited for: it is restarted within that
	retryEvery     = 50 * time.Millisecond // a socket that is not there gives no event worth the code at this place
)

// Handoff gives standard input, the output pipe of terminal name, to the recorder behind socket. It is what runs as
// `corral handoff <socket> <name>`, and returns the exit status.
func Handoff(socket, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), handoffTimeout)
	defer cancel()
	if err := handoff(ctx, socket, name, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "corral handoff:", err) // tmux throws it away; people who try it see it
		return 1
	}
	return 0
}

func handoff(ctx context.Context, socket, name string, file *os.File) error {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		err := offer(ctx, socket, name, file)
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("hand over the output of %s: %w", name, err)
		}
	}
}

// offer tries once. A descriptor that was sent without an acknowledgement is offered again: a recorder that took both
// replaces the first by the second.
func offer(ctx context.Context, socket, name string, file *os.File) error {
	return give(ctx, socket, handoffVerb+name, file)
}

// give makes a request that hands over a descriptor.
func give(ctx context.Context, socket, request string, file *os.File) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("reach the recorder: %w", err)
	}
	defer conn.Close() //nolint:errcheck // what was sent is acknowledged
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("reach the recorder: not a unix socket")
	}
	if t, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(t); err != nil {
			return fmt.Errorf("reach the recorder: %w", err)
		}
	}
	if err := send(uc, request, file); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil || answer[0] != ack {
		return fmt.Errorf("the recorder did not take the descriptor: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}
