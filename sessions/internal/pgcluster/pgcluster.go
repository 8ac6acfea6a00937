// Package pgcluster owns the private PostgreSQL cluster of a data directory: it makes it, starts it, adopts it when it
// runs already, keeps it running, and stops it.
//
// The postmaster is no child that must be minded: it runs in a session of its own and outlives whoever started it, so a
// server that is killed and started again finds its database as it was. What identifies it is PostgreSQL's own
// postmaster.pid, checked against the process that it names. Promises:
//
//   - A half-made cluster is never taken for a whole one: it is made beside its place and renamed.
//   - Two servers that start at once start one postmaster: a flock beside the data directory, then PostgreSQL's own lock.
//   - A cluster of another major version is refused, its data untouched.
//   - Only the owner of the data directory and root get in: a 0700 directory around the socket, and peer authentication.
//     There is no TCP port.
//   - As root everything runs as another user, since PostgreSQL refuses root.
//
// The end of the postmaster is noticed at once through a pidfd, the loss of its socket through inotify. A Cluster runs
// goroutines only while one of its methods does; a process handle has one (see process), ended by its close. There are
// no locks but the flock, and all methods may be called at the same time, save that Watch must have ended before Stop.
package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"corral/sessions"
)

const (
	// Role and database inside the cluster.
	role     = "corral"
	database = "corral"

	port       = "5432" // only part of the socket's name
	socketName = ".s.PGSQL." + port

	// maxSocketDir leaves room in sun_path (107 bytes and a terminator, unix(7)) for "/" + socketName.
	maxSocketDir = 107 - 1 - len(socketName)
)

// Config says where the private cluster lives and as whom it runs.
type Config struct {
	Dir       string // the cluster's data directory, absolute; made when missing
	SocketDir string // the directory of its socket, absolute, at most 93 bytes; made when missing
	LogDir    string // where postgres.log goes; made when missing
	RunAsUser string // the user PostgreSQL runs as when we are root; "" is ourselves
	// BinDirs are the directories to look for PostgreSQL's programs in; nil means the usual ones and PATH.
	BinDirs []string
	Log     *slog.Logger // nil: no log
}

// Cluster is a private PostgreSQL cluster. It holds no state of its own: the truth is on disk and in the process table.
type Cluster struct {
	cfg Config
	log *slog.Logger
}

// New returns the cluster that cfg describes. It touches nothing; what is wrong with cfg, Ensure says.
func New(cfg Config) *Cluster {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Cluster{cfg: cfg, log: log}
}

// URL returns where the cluster is reached while it runs.
func (c *Cluster) URL() string {
	query := url.Values{"host": {c.cfg.SocketDir}, "port": {port}, "sslmode": {"disable"}}
	return "postgres://" + role + "@/" + database + "?" + query.Encode()
}

// Ensure makes the cluster when there is none, starts it or adopts the running one, and returns its URL when it takes
// connections. A postmaster that is still recovering when ctx ends goes on; the next call adopts it. Errors are
// *sessions.Error with a sentence for people, save ctx's own.
func (c *Cluster) Ensure(ctx context.Context) (string, error) {
	pm, err := c.ensure(ctx)
	if err != nil {
		return "", err
	}
	pm.close()
	return c.URL(), nil
}

func (c *Cluster) ensure(ctx context.Context) (*postmaster, error) {
	as, err := c.check()
	if err != nil {
		return nil, err
	}
	if err := c.makeParents(as); err != nil {
		return nil, err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return c.startOrAdopt(ctx, as)
}

// prepare makes the cluster when there is none, and returns the PostgreSQL to run it with. The caller holds the lock.
func (c *Cluster) prepare(ctx context.Context, as account) (installed, error) {
	made, err := c.madeBy()
	if err != nil {
		return installed{}, err
	}
	bin, err := c.binaries(ctx, made)
	if err != nil || made != "" {
		return bin, err
	}
	return bin, c.initialize(ctx, bin, as)
}

// check refuses what cannot work before anything is touched.
func (c *Cluster) check() (account, error) {
	dir, socketDir := c.cfg.Dir, c.cfg.SocketDir
	switch {
	case !filepath.IsAbs(dir) || !filepath.IsAbs(socketDir):
		return account{}, problem("the private database needs absolute paths", "correct CR_DATA_DIR and CR_RUN_DIR", nil)
	case len(socketDir) > maxSocketDir:
		return account{}, problem(
			fmt.Sprintf("the path of the database's socket directory is too long (%d bytes of %d): %s", len(socketDir), maxSocketDir, socketDir),
			"set CR_RUN_DIR to a shorter one", nil)
	case strings.ContainsRune(socketDir, ','): // it separates directories, for PostgreSQL as for its clients
		return account{}, problem("the path of the database's socket directory has a comma in it: "+socketDir,
			"set CR_RUN_DIR to one without", nil)
	}
	return c.account()
}

// madeBy returns the major version that made the cluster, "" when there is none yet.
func (c *Cluster) madeBy() (string, error) {
	text, err := os.ReadFile(filepath.Join(c.cfg.Dir, "PG_VERSION"))
	switch {
	case err == nil:
		return strings.TrimSpace(string(text)), nil
	case !errors.Is(err, os.ErrNotExist):
		return "", problem("the database's directory cannot be read: "+c.cfg.Dir, "correct its permissions", err)
	}
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", problem("the database's directory cannot be read: "+c.cfg.Dir, "correct its permissions", err)
	}
	if len(entries) > 0 {
		return "", problem(c.cfg.Dir+" should hold the database, but what is in it was not made by PostgreSQL",
			"move it away", nil)
	}
	return "", nil
}

// lockRetry is the time between two tries for the flock. The kernel has no event for it that a context can end.
const lockRetry = 50 * time.Millisecond

// lock makes us the only one, in any process, that makes or starts this cluster.
func (c *Cluster) lock(ctx context.Context) (unlock func(), err error) {
	path := c.cfg.Dir + ".lock"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, problem("the database's lock cannot be opened: "+path, "correct the permissions of its directory", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing is what unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := pause(ctx, lockRetry); err != nil {
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("wait for the start of the database in another process: %w", err)
		}
	}
}

// Stop ends the postmaster with a fast shutdown (PostgreSQL documentation, 19.5): clients are cut off, everything
// committed is on disk. A cluster that does not run is no error, and one that another server uses is left running. End
// Watch before, or it starts the cluster again.
func (c *Cluster) Stop(ctx context.Context) error {
	pm, err := c.running()
	if err != nil || pm == nil {
		return err
	}
	defer pm.close()
	if c.used(ctx) {
		c.log.Warn("database left running for another server", "pid", pm.pid)
		return nil
	}
	if err := pm.signal(unix.SIGINT); err != nil {
		return fmt.Errorf("stop PostgreSQL (pid %d): %w", pm.pid, err)
	}
	select {
	case <-pm.ended:
		c.log.Info("database stopped", "pid", pm.pid)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of PostgreSQL (pid %d): %w", pm.pid, ctx.Err())
	}
}

// problem is an error for people about the private database.
func problem(message, hint string, cause error) error {
	return &sessions.Error{Code: sessions.CodeDatabaseUnavailable, Message: message, Hint: hint, Cause: cause}
}

// pause waits for d, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
