package pgcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// usualBinDirs is where distributions put PostgreSQL's server programs, outside PATH: Debian, Red Hat and SUSE.
var usualBinDirs = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin"}

// installed is one version of PostgreSQL on this machine.
type installed struct {
	dir   string
	major int
}

func (i installed) path(program string) string { return filepath.Join(i.dir, program) }

// binaries chooses the PostgreSQL to use: the newest, or for a cluster that exists the version that made it.
func (c *Cluster) binaries(ctx context.Context, made string) (installed, error) {
	all := findInstalled(ctx, c.cfg.BinDirs)
	if ctx.Err() != nil { // then what was found says nothing
		return installed{}, fmt.Errorf("look for PostgreSQL: %w", ctx.Err())
	}
	if len(all) == 0 {
		return installed{}, problem("PostgreSQL's server programs are not installed", "apt-get install postgresql", nil)
	}
	if made == "" {
		return all[0], nil
	}
	for _, i := range all {
		if strconv.Itoa(i.major) == made {
			return i, nil
		}
	}
	return installed{}, problem(
		"the database in "+c.cfg.Dir+" was made by PostgreSQL "+made+", and this machine has "+majors(all)+"; its data is untouched",
		"apt-get install postgresql-"+made+", or move the directory away to begin anew", nil)
}

func majors(all []installed) string {
	var names []string
	for _, i := range all {
		names = append(names, strconv.Itoa(i.major))
	}
	return strings.Join(slices.Compact(names), ", ")
}

// findInstalled returns the versions found, newest first.
func findInstalled(ctx context.Context, dirs []string) []installed {
	if dirs == nil {
		for _, pattern := range usualBinDirs {
			found, _ := filepath.Glob(pattern) // the patterns are well-formed
			dirs = append(dirs, found...)
		}
		if postgres, err := exec.LookPath("postgres"); err == nil {
			if target, err := filepath.EvalSymlinks(postgres); err == nil {
				dirs = append(dirs, filepath.Dir(target))
			}
		}
	}
	slices.Sort(dirs)
	var all []installed
	for _, dir := range slices.Compact(dirs) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		if major := majorOf(ctx, filepath.Join(dir, "postgres")); major > 0 {
			all = append(all, installed{dir: dir, major: major})
		}
	}
	slices.SortStableFunc(all, func(a, b installed) int { return b.major - a.major })
	return all
}

// versionLine is what postgres --version prints, as "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
var versionLine = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)

func majorOf(ctx context.Context, postgres string) int {
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0
	}
	parts := versionLine.FindSubmatch(out)
	if parts == nil {
		return 0
	}
	major, err := strconv.Atoi(string(parts[1]))
	if err != nil {
		return 0
	}
	return major
}
