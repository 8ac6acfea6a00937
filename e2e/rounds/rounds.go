// Package rounds is the one place that says how hard tests try: how many rounds a test of chance takes, and whether
// timing limits are checked at all. Every test asks here.
package rounds

import "os"

// Level says how thorough a test run is.
type Level int

// The levels: quick in `make test`, ci in .ci/run, full in `make prove`.
const (
	Quick Level = iota
	CI
	Full
)

// Now returns the level of this run, from CORRAL_TEST_LEVEL (quick, ci, full); quick when unset or unknown.
func Now() Level {
	switch os.Getenv("CORRAL_TEST_LEVEL") {
	case "full":
		return Full
	case "ci":
		return CI
	}
	return Quick
}

// N returns the number of rounds for the level of this run.
func N(quick, ci, full int) int {
	switch Now() {
	case Full:
		return full
	case CI:
		return ci
	case Quick:
		return quick
	}
	return quick
}

// Timing reports whether timing limits are to be asserted: at Full only, and never under the race detector, which
// slows everything several times.
func Timing() bool { return Now() == Full && !raceEnabled }
