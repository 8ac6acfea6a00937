package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/migrations"
)

// templateDatabase is the database with the newest schema that a test's own is copied from.
const templateDatabase = "template_corral"

// staleAfter is how long a template that nobody asks for any more, or what a failed test kept, stays.
const staleAfter = 24 * time.Hour

// copyTemplate fills the cluster's data directory. The lock makes one test process build the template while the others
// wait for it.
func (c *cluster) copyTemplate() error {
	cache := filepath.Join("/tmp", "corral-pgtest-"+strconv.Itoa(os.Getuid()))
	if err := ownDir(cache); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer lock.Close() //nolint:errcheck // closing is what unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("pgtest: lock %s: %w", lock.Name(), err)
	}
	template := filepath.Join(cache, c.templateKey())
	if _, err := os.Stat(template); errors.Is(err, os.ErrNotExist) {
		removeStale(cache)
		if err := c.makeTemplate(template); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	now := time.Now()
	if err := os.Chtimes(template, now, now); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return c.command("cp", "-a", template, filepath.Join(c.dir, "data"))
}

// templateKey names what the template depends on: the programs, how they are called, and the schema.
func (c *cluster) templateKey() string {
	sum := sha256.New()
	fmt.Fprintln(sum, c.bin, c.as.name, migrations.Hash(), initdbArgs("", ""))
	if info, err := os.Stat(filepath.Join(c.bin, "postgres")); err == nil {
		fmt.Fprintln(sum, info.Size(), info.ModTime()) // an upgraded minor version makes its own
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func initdbArgs(bin, data string) []string {
	return []string{
		filepath.Join(bin, "initdb"), "-D", data, "-U", "corral", "-A", "trust", "-N", "-E", "UTF8", "--locale=C.UTF-8",
		"--wal-segsize=1", "--no-instructions",
	}
}

// makeTemplate builds the template beside its place and renames it when it is whole.
func (c *cluster) makeTemplate(template string) error {
	build, err := os.MkdirTemp("/tmp", "cpg-")
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer os.RemoveAll(build) //nolint:errcheck // what stays is removed as stale
	if err := c.as.give(build); err != nil {
		return err
	}
	b := &cluster{dir: build, bin: c.bin, as: c.as}
	data := filepath.Join(build, "data")
	if err := b.command(initdbArgs(c.bin, data)...); err != nil {
		return err
	}
	if err := b.migrateTemplate(data); err != nil {
		return err
	}
	if err := os.Rename(data, template); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

func (c *cluster) migrateTemplate(data string) error {
	args := c.postgresArgs(data, c.dir)
	cmd := exec.Command(args[0], args[1:]...)
	c.as.run(cmd)
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer log.Close() //nolint:errcheck // only read back on failure
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: start PostgreSQL: %w", err)
	}
	err = errors.Join(c.wait(), c.migrate())
	if serr := cmd.Process.Signal(syscall.SIGINT); serr != nil { // fast shutdown, with a checkpoint
		err = errors.Join(err, serr)
	}
	if werr := cmd.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("pgtest: stop PostgreSQL: %w", werr))
	}
	return err
}

func (c *cluster) migrate() error {
	if err := c.admin("CREATE DATABASE " + templateDatabase); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url(templateDatabase))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left to say to it
	return migrations.Up(ctx, conn)
}

// command runs one of PostgreSQL's programs, or cp, as the owner.
func (c *cluster) command(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	c.as.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ownDir makes a directory under /tmp that others may pass through but not change, and refuses one that somebody else
// has put there.
func ownDir(path string) error {
	if err := os.Mkdir(path, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("pgtest: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("pgtest: %s is not a directory of ours; remove it", path)
	}
	return nil
}

// removeStale removes the templates of other schemas and the leftovers of failed tests, once they are old.
func removeStale(cache string) {
	templates, _ := filepath.Glob(filepath.Join(cache, "????????????????"))
	kept, _ := filepath.Glob("/tmp/cpg-*/keep")
	for i, k := range kept {
		kept[i] = filepath.Dir(k)
	}
	for _, dir := range append(templates, kept...) {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.RemoveAll(dir) //nolint:errcheck // not ours, or the next one's turn
		}
	}
}

// binDir finds PostgreSQL's programs: the newest of Debian's versions, else those in PATH.
func binDir() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	if found, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("pgtest: PostgreSQL's server programs are missing; install them: apt-get install postgresql")
}

func major(bin string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return n
}

func clusterOwner() (owner, error) {
	if os.Getuid() != 0 {
		return owner{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return owner{}, errors.New("pgtest: there is no user postgres for PostgreSQL to run as; apt-get install postgresql")
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr); err != nil {
		return owner{}, fmt.Errorf("pgtest: user postgres: %w", err)
	}
	return owner{name: u.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}
