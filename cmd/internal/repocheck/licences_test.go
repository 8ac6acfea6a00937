package repocheck

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// licences are the texts by which the licences that we accept are known. All of them let anybody use, change and give
// away the whole.
var licences = []struct{ name, says string }{ //nolint:gochecknoglobals // a table
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD", "Redistribution and use in source and binary forms, with or without modification, are permitted"},
	{"Apache 2.0", "Apache License Version 2.0"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
}

// TestLicences reads the licence of every module that is linked into the binary or into its tests.
func TestLicences(t *testing.T) {
	t.Parallel()
	out, err := goList("-e", "-test", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./...")
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(modules)
	for _, m := range slices.Compact(modules) {
		path, dir, ok := strings.Cut(m, " ")
		if !ok || path == "" {
			continue
		}
		if name := licence(t, dir); name == "" {
			t.Errorf("%s: no licence that we know in %s", path, dir)
		}
	}
}

func licence(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if !strings.HasPrefix(upper, "LICENSE") && !strings.HasPrefix(upper, "LICENCE") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // a directory of that name
		}
		text := strings.Join(strings.Fields(string(b)), " ")
		for _, l := range licences {
			if strings.Contains(text, l.says) {
				return l.name
			}
		}
	}
	return ""
}
