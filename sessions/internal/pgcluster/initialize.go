package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"corral/sessions"
)

// initialize makes the cluster: in a directory beside its place, with its database in it, written to disk, then
// renamed. The caller holds the lock, so whatever lies beside from a try that was cut short is nobody's.
func (c *Cluster) initialize(ctx context.Context, bin installed, as account) error {
	leftovers, err := filepath.Glob(escapeGlob(c.cfg.Dir) + ".init-*")
	if err != nil {
		return fmt.Errorf("look for unfinished databases: %w", err)
	}
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			return problem("an unfinished database cannot be removed: "+dir, "remove it", err)
		}
	}
	if err := as.checkReach(ctx, bin.path("postgres"), c.cfg.Dir); err != nil {
		return err
	}
	parent := filepath.Dir(c.cfg.Dir)
	dir, err := os.MkdirTemp(parent, filepath.Base(c.cfg.Dir)+".init-")
	if err != nil {
		return problem("the database cannot be made in "+parent, "correct its permissions, or make room", err)
	}
	if err := c.fill(ctx, dir, bin, as); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Rename(dir, c.cfg.Dir); err != nil {
		return problem("the database cannot be put in its place: "+c.cfg.Dir, "", err)
	}
	if err := syncPath(parent); err != nil {
		return fmt.Errorf("write %s to disk: %w", parent, err)
	}
	c.log.Info("database made", "dir", c.cfg.Dir, "version", bin.major)
	return nil
}

// fill makes a whole cluster in dir. initdb and the server write their own files to disk. Small segments of the
// write-ahead log spare a few rows of metadata 16 MB on disk.
func (c *Cluster) fill(ctx context.Context, dir string, bin installed, as account) error {
	if as.other {
		if err := os.Chown(dir, as.uid, as.gid); err != nil {
			return fmt.Errorf("give %s to %s: %w", dir, as.name, err)
		}
	}
	err := run(ctx, as, "", bin.path("initdb"), "-D", dir, "-U", role, "--auth-local=peer", "--auth-host=reject",
		"-E", "UTF8", "--locale=C.UTF-8", "--wal-segsize=1", "--no-instructions")
	if err != nil {
		return err
	}
	// peer compares the account on the other side of the socket with this map; root and the owner are the role.
	ident := fmt.Sprintf("corral \"%s\" %s\n", as.name, role)
	if as.name != "root" {
		ident += "corral root " + role + "\n"
	}
	for name, text := range map[string]string{"pg_hba.conf": "local all all peer map=corral\n", "pg_ident.conf": ident} {
		path := filepath.Join(dir, name) // exists, with the right owner
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the access rules: %w", err)
		}
		if err := syncPath(path); err != nil {
			return fmt.Errorf("write %s to disk: %w", path, err)
		}
	}
	// A single-user server makes the database, so that a cluster in its place always has it.
	return run(ctx, as, "CREATE DATABASE "+database+"\n",
		bin.path("postgres"), "--single", "-D", dir, "-c", "exit_on_error=on", "-c", "log_checkpoints=off", "postgres")
}

// run runs one of PostgreSQL's programs to its end. What it printed is in the error.
func run(ctx context.Context, as account, input, path string, args ...string) error {
	var out bytes.Buffer
	cmd := as.command(ctx, path, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("make the database: %w", ctx.Err())
	}
	message := "PostgreSQL's " + filepath.Base(path) + " does not work"
	if last := lastLine(out.String()); last != "" {
		message += ": " + last
	}
	return problem(message, "try it by hand: "+path, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out.Bytes()))
}

// lastLine returns the last line of what a program of PostgreSQL printed that says what went wrong.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"FATAL: ", "PANIC: ", "ERROR: ", "error: "} {
			if _, after, found := strings.Cut(line, mark); found {
				last = sessions.CleanLine(after, 300)
			}
		}
	}
	return last
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// syncPath writes a file, or the names in a directory, to disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
