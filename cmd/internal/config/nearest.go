package config

import (
	"encoding"
	"reflect"
	"strings"
)

// nearest returns the known key that a misspelt one most likely means, "" when none is near.
func nearest(key string) string {
	best, bestDistance := "", len(key)/3+2
	all := keys(reflect.TypeFor[Config](), "")
	if parts := strings.Split(key, "."); len(parts) == 3 && parts[0] == "agents" {
		all = append(all, keys(reflect.TypeFor[Agent](), "agents."+parts[1]+".")...)
	}
	for _, known := range all {
		if d := distance(key, known); d < bestDistance {
			best, bestDistance = known, d
		}
		// The right word under the wrong table, or none: retention_days for events.retention_days.
		if _, last, dotted := strings.Cut(known, "."); dotted && best == "" && last == key {
			best = known
		}
	}
	return best
}

// keys lists the keys of a configuration struct, tables as prefix of theirs.
func keys(t reflect.Type, prefix string) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("toml")
		all = append(all, key)
		if f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			all = append(all, keys(f.Type, key+".")...)
		}
	}
	return all
}

// distance is the Levenshtein distance in bytes: how many insertions, deletions and substitutions make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
