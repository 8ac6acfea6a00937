package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is the running PostgreSQL of this test process. It is never stopped by us: see keeper.
type cluster struct {
	dir string // holds data/, the socket and the log
	bin string
	as  owner
	// alive is the pipe that the keeper waits on. It must stay reachable: a finalizer that closed it would stop the
	// cluster.
	alive *os.File
}

// shared starts the cluster once per test process. It is the one package-level thing that lasts, because tests that
// know nothing of one another share it and nobody owns them all.
var shared = sync.OnceValues(start)

// keeper is the shell script between test process and postmaster: see the package comment. Its arguments are the
// directory and the command. SIGQUIT ends a postmaster at once; nothing in it is worth a checkpoint.
const keeper = `
dir=$1; shift
"$@" </dev/null >"$dir/log" 2>&1 &
pid=$!
read -r _
kill -QUIT $pid
wait $pid
[ -e "$dir/keep" ] || rm -rf "$dir"
`

func start() (*cluster, error) {
	bin, err := binDir()
	if err != nil {
		return nil, err
	}
	as, err := clusterOwner()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "cpg-") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	c := &cluster{dir: dir, bin: bin, as: as}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, c.wait() // from here on the keeper removes the directory
}

func (c *cluster) prepare() error {
	if err := c.as.give(c.dir); err != nil {
		return err
	}
	if err := c.copyTemplate(); err != nil {
		return err
	}
	return c.run()
}

// run starts the keeper and through it the postmaster, in a session of their own: an interrupt from the terminal must
// reach the test process only, whose end then ends them in order.
func (c *cluster) run() error {
	pipeRead, pipeWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer pipeRead.Close() //nolint:errcheck // the keeper has its own copy
	args := append([]string{"-c", keeper, "keeper", c.dir}, c.postgresArgs(filepath.Join(c.dir, "data"), c.dir)...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Stdin = pipeRead
	c.as.run(cmd)
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: start the keeper: %w", err)
	}
	c.alive = pipeWrite
	return nil
}

func (c *cluster) postgresArgs(data, socketDir string) []string {
	args := []string{filepath.Join(c.bin, "postgres"), "-D", data, "-k", socketDir}
	for _, s := range []string{
		"listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB",
		"max_connections=200", "max_wal_senders=0", "wal_level=minimal", "max_worker_processes=2",
		"max_parallel_workers=0", "autovacuum=off", "jit=off",
	} {
		args = append(args, "-c", s)
	}
	return args
}

func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgres://corral@/%s?host=%s&port=5432", database, c.dir)
}

// wait returns when the postmaster answers. A test process has no better event than a try: there is nothing here to
// be told by.
func (c *cluster) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		if ctx.Err() != nil || strings.Contains(string(log), "database system is shut down") ||
			strings.Contains(string(log), "could not create any") {
			return fmt.Errorf("pgtest: PostgreSQL does not start: %w\n%s", err, log)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// keep makes the keeper leave the data directory behind and says how to look at a database in it.
func (c *cluster) keep(database string) string {
	if err := os.WriteFile(filepath.Join(c.dir, "keep"), nil, 0o600); err != nil {
		return fmt.Sprintf("pgtest: the database could not be kept: %v", err)
	}
	data := filepath.Join(c.dir, "data")
	command := fmt.Sprintf("%s -D %s -k %s -c listen_addresses=", filepath.Join(c.bin, "postgres"), data, c.dir)
	if c.as.name != "" {
		command = fmt.Sprintf("setpriv --reuid=%s --regid=%s --init-groups %s", c.as.name, c.as.name, command)
	}
	return fmt.Sprintf("pgtest: the database is kept: %s\nthen: psql -h %s -U corral %s", command, c.dir, database)
}

// owner is whom the cluster runs as: another user when we are root, since PostgreSQL refuses root.
type owner struct {
	name     string // "" for ourselves
	uid, gid uint32
}

func (o owner) give(path string) error {
	if o.name == "" {
		return nil
	}
	if err := os.Chown(path, int(o.uid), int(o.gid)); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// run makes cmd run as the owner with an environment of its own.
func (o owner) run(cmd *exec.Cmd) {
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o.name != "" {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
}
