package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rootPostgres is where a root's Corral keeps its private PostgreSQL, as cmd/internal/paths says.
const rootPostgres = "/var/lib/corral"

// New returns a Corral whose private PostgreSQL cluster is already made: a copy of the one that this process made first
// by starting a Corral from nothing. It spares each test the second that initdb takes. Nothing runs yet.
func New(t testing.TB) *Corral {
	t.Helper()
	c := Empty(t)
	shared.template.once.Do(func() { shared.template.pg, shared.template.err = makeTemplate(t) })
	if shared.template.err != nil {
		t.Fatal(shared.template.err)
	}
	if err := c.copyCluster(shared.template.pg); err != nil {
		t.Fatal(err)
	}
	return c
}

// makeTemplate starts a Corral from nothing, stops it, and returns where its cluster lies. The end of the run removes it.
func makeTemplate(t testing.TB) (string, error) {
	dir := filepath.Join(shared.keeper.Dir, "template")
	c := &Corral{T: t, Dir: dir, Home: filepath.Join(dir, "home"), Data: filepath.Join(dir, "d"), bin: Bin(t)}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return "", err
	}
	for _, verb := range []string{"up", "down"} {
		if r := c.Run(verb); r.Code != 0 {
			return "", fmt.Errorf("corral %s: exit %d: %s", verb, r.Code, r.Stderr)
		}
	}
	c.endProcesses()
	pg := c.postgresDir()
	if _, err := os.Stat(filepath.Join(pg, "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the database in %s did not stop: %w", pg, err)
	}
	return pg, nil
}

func (c *Corral) copyCluster(from string) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	to := filepath.Join(c.Data, "postgres")
	if os.Getuid() == 0 {
		home, err := os.MkdirTemp(rootPostgres, "e2e-")
		if err != nil {
			return err
		}
		if err := os.Chmod(home, 0o711); err != nil { //nolint:gosec // the user postgres passes through
			return err
		}
		to = filepath.Join(home, "pg")
		if err := os.WriteFile(filepath.Join(c.Data, "postgres.path"), []byte(to+"\n"), 0o600); err != nil {
			return err
		}
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the database cluster: %w: %s", err, out)
	}
	return nil
}

// postgresDir is where the private cluster lies.
func (c *Corral) postgresDir() string {
	if named, err := os.ReadFile(filepath.Join(c.Data, "postgres.path")); err == nil {
		return strings.TrimSpace(string(named))
	}
	return filepath.Join(c.Data, "postgres")
}
