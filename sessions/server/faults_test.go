package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/sessions"
	"corral/sessions/server"
	"corral/sessions/sessionclient"
)

const (
	// apiDeadline is the server's own for a request that is no creation, and some time to bring the answer.
	apiDeadline = 10*time.Second + 3*time.Second
	// trueAgain is how soon after a recovery every state must be right.
	trueAgain = 15 * time.Second
)

// fault is one way in which PostgreSQL lets a server down.
type fault struct {
	name  string
	begin func(t *testing.T, d *faultyDatabase)
	end   func(t *testing.T, d *faultyDatabase)
	// private is for a cluster of the server's own, else it is an external one behind a proxy.
	private bool
	// works says that requests get through, if late.
	works bool
}

// faultyDatabase is what a fault is worked on.
type faultyDatabase struct {
	proxy *pgtest.Proxy
	admin *pgx.Conn // past the proxy, as the superuser
	role  string    // the server's
	dir   string    // of the private cluster
	lock  *os.File  // keeps the server from starting it
}

func (d *faultyDatabase) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := d.admin.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// everybodyOut ends the server's connections, so that a setting reaches it.
const everybodyOut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

func faults() []fault {
	nothing := func(*testing.T, *faultyDatabase) {}
	signal := func(sig syscall.Signal) func(*testing.T, *faultyDatabase) {
		return func(t *testing.T, d *faultyDatabase) {
			if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(d.dir, "postmaster.pid"))
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			pid, err := strconv.Atoi(first)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	mayStart := func(t *testing.T, d *faultyDatabase) {
		if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN); err != nil {
			t.Fatal(err)
		}
	}
	return []fault{
		{name: "unreachable", begin: func(_ *testing.T, d *faultyDatabase) { d.proxy.Cut() }, end: func(_ *testing.T, d *faultyDatabase) { d.proxy.Open() }},
		{
			name:  "cut in the middle of a transaction",
			begin: func(_ *testing.T, d *faultyDatabase) { d.proxy.Sever(true) },
			end:   func(_ *testing.T, d *faultyDatabase) { d.proxy.Sever(false) },
		},
		{
			name: "slow", works: true,
			begin: func(_ *testing.T, d *faultyDatabase) {
				delay := time.Duration(rounds.N(300, 2000, 5000)) * time.Millisecond
				d.proxy.Slow(delay)
			},
			end: func(_ *testing.T, d *faultyDatabase) { d.proxy.Slow(0) },
		},
		{
			name: "read-only",
			begin: func(t *testing.T, d *faultyDatabase) {
				d.exec(t, `ALTER ROLE `+d.role+` SET default_transaction_read_only = on`, everybodyOut)
			},
			end: func(t *testing.T, d *faultyDatabase) {
				d.exec(t, `ALTER ROLE `+d.role+` RESET default_transaction_read_only`, everybodyOut)
			},
		},
		{
			name: "out of connections",
			begin: func(t *testing.T, d *faultyDatabase) {
				d.exec(t, `ALTER ROLE `+d.role+` CONNECTION LIMIT 0`, everybodyOut)
			},
			end: func(t *testing.T, d *faultyDatabase) { d.exec(t, `ALTER ROLE `+d.role+` CONNECTION LIMIT -1`) },
		},
		{
			// What PostgreSQL says then, without a full disk: whatever needs a new page is refused.
			name: "disk full",
			begin: func(t *testing.T, d *faultyDatabase) {
				d.exec(t, `CREATE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file: No space left on device'; END $$`,
					`CREATE TRIGGER full_events BEFORE INSERT ON terminal_events FOR EACH ROW EXECUTE FUNCTION full()`,
					`CREATE TRIGGER full_sessions BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION full()`)
			},
			end: func(t *testing.T, d *faultyDatabase) { d.exec(t, `DROP FUNCTION full() CASCADE`) },
		},
		{
			name:  "everybody thrown out",
			begin: func(t *testing.T, d *faultyDatabase) { d.exec(t, everybodyOut) }, end: nothing, works: true,
		},
		{name: "killed", private: true, begin: signal(syscall.SIGKILL), end: mayStart, works: true}, // its children work on for half a second
		{name: "stopped", private: true, begin: signal(syscall.SIGINT), end: mayStart},
	}
}

// Whatever PostgreSQL does, open panes flow, every request is answered in its time, and once it is well again every
// state is right, nothing was started by itself, and each change has one event.
func TestDatabaseFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		if f.private && rounds.Now() == rounds.Quick {
			continue // making a cluster takes seconds, and TestPrivateDatabaseKilled does it end to end
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.serveRuntime()
			d := faultyExternal
			if f.private {
				d = faultyPrivate
			}
			f.run(t, r, d(t, r))
		})
	}
}

// faultyExternal gives the server a database behind a proxy, as a role without privileges.
func faultyExternal(t *testing.T, r *rig) *faultyDatabase {
	t.Helper()
	url := pgtest.EmptyURL(t)
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	d := &faultyDatabase{admin: admin, role: "faulty_" + filepath.Base(r.dir)[4:]}
	d.exec(t, `CREATE ROLE `+d.role+` LOGIN`, `GRANT ALL ON SCHEMA public TO `+d.role)
	t.Cleanup(func() {
		d.exec(t, everybodyOut, `DROP OWNED BY `+d.role+` CASCADE`, `DROP ROLE `+d.role)
		_ = admin.Close(context.Background())
	})
	d.proxy = pgtest.NewProxy(t, filepath.Join(r.dir, "pg"), strings.Replace(url, "corral@", d.role+"@", 1))
	r.cfg.Database.URL = d.proxy.URL
	return d
}

func faultyPrivate(t *testing.T, r *rig) *faultyDatabase {
	t.Helper()
	d := &faultyDatabase{dir: filepath.Join(r.dir, "pg")}
	r.cfg.Database.Dir, r.cfg.Database.SocketDir, r.cfg.Database.LogDir = d.dir, filepath.Join(r.dir, "s"), filepath.Join(r.dir, "log")
	if os.Getuid() == 0 {
		r.cfg.Database.RunAsUser = "postgres"
	}
	var err error
	if d.lock, err = os.OpenFile(d.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.lock.Close() // and with it the lock
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.StopCluster(ctx, r.cfg); err != nil {
			t.Errorf("stop what is left: %v", err)
		}
	})
	return d
}

func (f fault) run(t *testing.T, r *rig, d *faultyDatabase) {
	t.Helper()
	stop := r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	var made [4]sessions.Session
	for i := range made {
		var err error
		if made[i], err = r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Title: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	typed, seven, lost, asked := made[0], made[1], made[2], made[3]
	pane := openPane(t, r.client, typed.ID)

	f.begin(t, d)
	began := time.Now()
	pane.echo(t, "during")
	r.runtime.Exit(string(seven.ID), 7)
	r.runtime.KillSession(string(lost.ID))
	f.requests(t, r.client, asked.ID)
	pane.echo(t, "still")
	f.end(t, d)
	t.Logf("well again after %v", time.Since(began).Round(time.Millisecond))

	well := time.Now()
	bound := patience
	if rounds.Timing() {
		bound = trueAgain
	}
	for id, want := range map[sessions.ID]sessions.State{seven.ID: sessions.Failed, lost.ID: sessions.Recoverable, typed.ID: sessions.Detached} {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		if s, err := r.client.Wait(ctx, id, sessions.WaitRequest{States: []sessions.State{want}}); err != nil {
			t.Errorf("%s: %s, want %s: %v", id, s.State, want, err)
		}
		cancel()
	}
	t.Logf("states true after %v", time.Since(well).Round(time.Millisecond))
	pane.echo(t, "after")
	history(t, r)
	nothingStarted(t, r)
	if err := stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// requests asks for everything at once while the fault is there.
func (f fault) requests(t *testing.T, c *sessionclient.Client, id sessions.ID) {
	t.Helper()
	ctx := t.Context()
	var asking sync.WaitGroup
	for name, ask := range map[string]func() error{
		"list":   func() error { return second(c.List(ctx)) },
		"get":    func() error { return second(c.Get(ctx, id)) },
		"status": func() error { return second(c.Status(ctx)) },
		"screen": func() error { return second(c.Screen(ctx, id)) },
		"events": func() error { return second(c.Events(ctx, id)) },
		"rename": func() error { return second(c.Update(ctx, id, sessions.UpdateRequest{Title: new("x")})) },
		"stop":   func() error { return second(c.Stop(ctx, id)) },
		"create": func() error { return second(c.Create(ctx, sessions.CreateRequest{CWD: "/tmp"})) },
		"remove": func() error { return c.Remove(ctx, id, true) },
	} {
		asking.Go(func() {
			begun := time.Now()
			err := ask()
			// A creation may wait for a server that is starting, as ours is: it is younger than a minute.
			if took := time.Since(begun); took > apiDeadline && name != "create" {
				t.Errorf("%s took %v: %v", name, took, err)
			}
			switch sessions.CodeOf(err) {
			case "", sessions.CodeDatabaseUnavailable, sessions.CodeDeadline, sessions.CodeConflict, sessions.CodeNotFound:
			default:
				t.Errorf("%s: %v", name, err)
			}
			always := name == "list" || name == "status" || name == "screen"
			if err != nil && always && !errors.Is(err, sessions.ErrNotFound) { // it may have been removed by then
				t.Errorf("%s needs the database: %v", name, err)
			}
			if changes := name == "rename" || name == "stop" || name == "create"; changes && err == nil && !f.works {
				t.Errorf("%s was done", name)
			}
		})
	}
	asking.Wait()
}

// history waits until rows and terminals agree, and checks every session's events.
func history(t *testing.T, r *rig) {
	t.Helper()
	ctx := t.Context()
	var why string
	for deadline := time.Now().Add(patience); ; {
		if why = agree(ctx, r); why == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(why)
		}
		time.Sleep(20 * time.Millisecond)
	}
	list, err := r.client.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		events, err := r.client.Events(ctx, s.ID)
		if err != nil || len(events) == 0 {
			t.Fatalf("events of %s: %v", s.ID, err)
		}
		state := sessions.State("")
		for _, e := range events {
			if e.From != state || !state.CanFollow(e.To) && state != "" {
				t.Errorf("%s: event %d goes from %q to %s, the state before was %q", s.ID, e.ID, e.From, e.To, state)
			}
			state = e.To
		}
		if state != s.State {
			t.Errorf("%s is %s, its events end with %s", s.ID, s.State, state)
		}
	}
}

// nothingStarted checks that each program was started once, as it was asked for.
func nothingStarted(t *testing.T, r *rig) {
	t.Helper()
	started := map[string]int{}
	for _, l := range r.runtime.Launches() {
		if started[l.Meta.ID]++; started[l.Meta.ID] > 1 || l.Meta.Run != 1 {
			t.Errorf("%s was started again", l.Meta.ID)
		}
	}
}

// agree says where rows and terminals differ.
func agree(ctx context.Context, r *rig) string {
	list, err := r.client.List(ctx)
	if err != nil {
		return err.Error()
	}
	inv, err := r.runtime.Inventory(ctx)
	if err != nil {
		return err.Error()
	}
	alive := map[string]bool{}
	for _, t := range inv.Terminals {
		alive[t.ID] = !t.Dead
	}
	for _, s := range list {
		if s.State == sessions.Stopping || s.State == sessions.Starting || s.State.Live() != alive[string(s.ID)] {
			return fmt.Sprintf("%s is %s, its terminal lives: %v", s.ID, s.State, alive[string(s.ID)])
		}
		delete(alive, string(s.ID))
	}
	for id, live := range alive {
		if live {
			return "nobody knows the terminal " + id
		}
	}
	return ""
}

// pane is a viewer that sees what it types come back.
type pane struct {
	stream *sessionclient.Stream
	live   chan struct{}
	once   sync.Once
	bytes  chan []byte
}

func openPane(t *testing.T, c *sessionclient.Client, id sessions.ID) *pane {
	t.Helper()
	p := &pane{live: make(chan struct{}), bytes: make(chan []byte, 256)}
	p.stream = c.Attach(id, sessions.StreamOptions{Cols: 80, Rows: 24, Mode: sessions.ModePane}, p)
	t.Cleanup(p.stream.Close)
	select {
	case <-p.live:
	case <-time.After(patience):
		t.Fatal("the pane does not open")
	}
	return p
}

func (*pane) StreamFrame(sessions.Frame) {}
func (p *pane) StreamBytes(b []byte)     { p.bytes <- append([]byte(nil), b...) }
func (p *pane) StreamLink(l sessions.Link) {
	if l.State == sessions.LinkLive {
		p.once.Do(func() { close(p.live) })
	}
}

// echo types a word and waits for it.
func (p *pane) echo(t *testing.T, word string) {
	t.Helper()
	begun := time.Now()
	if !p.stream.Send([]byte(word)) {
		t.Errorf("%q was not taken", word)
	}
	var seen strings.Builder
	for !strings.Contains(seen.String(), word) {
		select {
		case b := <-p.bytes:
			seen.Write(b)
		case <-time.After(patience):
			t.Fatalf("%q does not come back", word)
		}
	}
	if took := time.Since(begun); rounds.Timing() && took > time.Second {
		t.Errorf("%q took %v", word, took)
	}
}
