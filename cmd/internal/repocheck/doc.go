// Package repocheck holds the rules of the repository that a compiler does not know, as tests: who may import whom, what
// only some packages may do, that every package explains itself, how long files and functions may be, and which licences
// we depend on. A rule that nobody checks is broken within a month.
package repocheck
