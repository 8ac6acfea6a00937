package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// peer plays tmux's side of a control connection: it greets, then hands each exchange's two lines to answer, which
// says what to write. An answer that is no whole line ends the stream.
func peer(t *testing.T, answer func(list, word string) string) *control {
	t.Helper()
	fromUs, toPeer := io.Pipe()
	fromPeer, toUs := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer toUs.Close() //nolint:errcheck // a pipe
		if _, err := io.WriteString(toUs, "%begin 1 1 0\n%end 1 1 0\n%window-add @0\n"); err != nil {
			return
		}
		in := bufio.NewScanner(fromUs)
		for in.Scan() {
			list := in.Text()
			if !in.Scan() {
				return
			}
			word := strings.Trim(strings.TrimPrefix(in.Text(), "display-message -p "), `"`)
			text := answer(list, word)
			if text == "" {
				return
			}
			if _, err := io.WriteString(toUs, text); err != nil || !strings.HasSuffix(text, "\n") {
				return
			}
		}
	})
	c, greeting := newControl(toPeer, struct {
		io.Reader
		io.Closer
	}{iotest.OneByteReader(fromPeer), fromPeer})
	t.Cleanup(func() {
		c.hangUp()
		_ = fromUs.Close() // pipes
		_ = toUs.Close()
		wg.Wait()
	})
	if _, err := c.await(t.Context(), greeting); err != nil {
		t.Fatal(err)
	}
	return c
}

// block writes one reply.
func block(number int, end string, lines ...string) string {
	guard := fmt.Sprintf("1700000000 %d 1", number)
	var b strings.Builder
	fmt.Fprintf(&b, "%%begin %s\n", guard)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(&b, "%%%s %s\n", end, guard)
	return b.String()
}

func TestRepliesMatchTheirCommands(t *testing.T) {
	t.Parallel()
	c := peer(t, func(_, word string) string {
		return block(2, "end", "one", "%end 1700000000 3 1", "%begin 1 2 3", "") +
			"%sessions-changed\n%unheard-of x\n" +
			block(3, "end") + block(7, "end", word)
	})
	got, err := c.run(t.Context(), []Command{{"a"}, {"b"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Reply{{Lines: []string{"one", "%end 1700000000 3 1", "%begin 1 2 3", ""}}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARefusalEndsTheList(t *testing.T) {
	t.Parallel()
	c := peer(t, func(_, word string) string {
		return block(2, "end", "one") + block(3, "error", "can't find pane") + block(4, "end", word)
	})
	for range 2 { // the connection goes on
		got, err := c.run(t.Context(), []Command{{"a"}, {"b"}, {"c"}})
		var refused *Error
		if !errors.As(err, &refused) || refused.Command != "b" || refused.Message != "can't find pane" {
			t.Fatalf("got %v", err)
		}
		if len(got) != 2 || got[0].Err != nil || got[1].Err == nil {
			t.Errorf("got %+v", got)
		}
	}
}

func TestWhatCannotBeBelievedDropsTheConnection(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(word string) string{
		"text outside a reply":  func(w string) string { return "hello\n" + block(2, "end") + block(3, "end", w) },
		"an end of nothing":     func(string) string { return "%end 1 2 3\n" },
		"too many replies":      func(w string) string { return block(2, "end") + block(3, "end") + block(4, "end", w) },
		"too few replies":       func(w string) string { return block(2, "end", w) },
		"a reply to nothing":    func(w string) string { return block(2, "end") + block(3, "end", w) + block(4, "end") },
		"goes on after refusal": func(string) string { return block(2, "error") + block(3, "end") },
		"an exit":               func(string) string { return "%exit too far behind\n" },
		"a cut":                 func(string) string { return "" },
		"a cut reply":           func(string) string { return "%begin 1 2 1\nhalf" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := false
			c := peer(t, func(_, word string) string {
				if cut {
					return ""
				}
				cut = true
				return answer(word)
			})
			_, err := c.run(t.Context(), []Command{{"a"}})
			if name != "a reply to nothing" && !errors.Is(err, ErrDown) {
				t.Errorf("got %v", err)
			}
			if _, err := c.run(t.Context(), []Command{{"a"}}); !errors.Is(err, ErrDown) {
				t.Errorf("the connection went on: %v", err)
			}
		})
	}
}

// A pane can show anything, also the very end of its own capture and a made-up reply to the next command.
func TestCapturedTextCannotForgeReplies(t *testing.T) {
	t.Parallel()
	n := 0
	c := peer(t, func(_, word string) string {
		n++
		if n > 1 {
			return block(4, "end", "real") + block(5, "end", word)
		}
		return block(2, "end", "screen", "%end 1700000000 2 1",
			"%begin 1700000000 3 1", "a word that is not known", "%end 1700000000 3 1",
			"%begin 1700000000 4 1", "forged", "%end 1700000000 4 1") + block(3, "end", word)
	})
	if got, err := c.run(t.Context(), []Command{{"capture-pane"}}); err == nil {
		t.Errorf("believed %q", got)
	}
	if got, err := c.run(t.Context(), []Command{{"list-panes"}}); err == nil {
		t.Errorf("believed %q", got)
	}
}

func TestAnAbandonedCommandLeavesTheConnectionInStep(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := peer(t, func(list, word string) string {
		if strings.Contains(list, "slow") {
			<-release
		}
		return block(2, "end", list) + block(3, "end", word)
	})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.run(ctx, []Command{{"slow"}})
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	got, err := c.run(t.Context(), []Command{{"quick"}})
	if err != nil || got[0].Lines[0] != `"quick"` {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestListingMustBeWholeAndOfThisServer(t *testing.T) {
	t.Parallel()
	line := func(pid, session, pane string) string {
		return strings.Join([]string{pid, session, pane, "5", "80", "24", "1700000000", "1", "", "9", "1700000001", "1", "/dev/pts/3", "{\ttab}"}, "\t")
	}
	panes, err := parseListing([]string{line("7", "cr-a", "%12"), line("7", "cr-a", "%9"), line("7", "hub", "%0")}, 7)
	if err != nil {
		t.Fatal(err)
	}
	if len(panes) != 1 || panes[0].ID != "%9" || *panes[0].Signal != 9 || panes[0].Status != nil || panes[0].Meta != "{\ttab}" {
		t.Errorf("got %+v", panes)
	}
	for name, lines := range map[string][]string{
		"empty":          nil,
		"without hub":    {line("7", "cr-a", "%9")},
		"another server": {line("8", "hub", "%0")},
		"cut":            {"7\thub"},
		"no number":      {line("7", "hub", "%0"), line("x", "cr-a", "%1")},
	} {
		if _, err := parseListing(lines, 7); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestVersionsOrder(t *testing.T) {
	t.Parallel()
	var last version
	for _, text := range []string{"tmux 2.9a", "tmux 3.2", "3.3", "tmux 3.3a", "3.4", "tmux 3.5a\n", "3.6", "3.6b", "tmux next-3.8", "3.10", "tmux master"} {
		v := parseVersion(text)
		if !last.before(v) {
			t.Errorf("%q reads as %v, not after %v", text, v, last)
		}
		last = v
	}
	if parseVersion("tmux 3.3").before(oldest) != true || parseVersion("tmux 3.3a").before(oldest) {
		t.Error("3.3a is the oldest supported version")
	}
	if parseVersion("3.4-rc").letter != 0 {
		t.Error("a release candidate got a letter")
	}
}
