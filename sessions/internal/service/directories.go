package service

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const (
	maxDirectories = 50
	// maxEntries bounds how much of one directory is looked at, so that completing in a spool of millions stays quick.
	maxEntries = 20_000
)

// Directories returns the directories on this node whose path begins with prefix, at most 50, sorted. A leading ~ is
// home. Hidden ones are offered only to a prefix that names the dot. What cannot be read is simply not offered.
func Directories(ctx context.Context, home, prefix string) []string {
	if prefix == "" {
		prefix = "~/"
	}
	if rest, ok := strings.CutPrefix(prefix, "~"); ok && (rest == "" || rest[0] == '/') {
		if rest == "" {
			rest = "/"
		}
		prefix = strings.TrimSuffix(home, "/") + rest
	}
	if !filepath.IsAbs(prefix) || strings.ContainsRune(prefix, 0) {
		return nil
	}
	parent, begin := filepath.Split(prefix)
	dir, err := os.Open(parent)
	if err != nil {
		return nil
	}
	defer dir.Close()
	// An error after some names leaves those names.
	names, _ := dir.Readdirnames(maxEntries)
	sort.Strings(names)
	var found []string
	for _, name := range names {
		if len(found) == maxDirectories || ctx.Err() != nil {
			break
		}
		if !strings.HasPrefix(name, begin) || (begin == "" && name[0] == '.') {
			continue
		}
		path := filepath.Join(parent, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			found = append(found, path)
		}
	}
	return found
}
