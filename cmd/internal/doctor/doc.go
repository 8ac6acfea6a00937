// Package doctor says whether everything that Corral depends on is as it must be, and how to mend what is not.
//
// It is in two halves. Examine is pure: it makes checks from Facts, each by a small function that a test can feed.
// Gathering the facts is the caller's business, with the probes here for those that only the operating system knows
// (Disk, Clock, CanWrite). Neither half starts, makes or changes anything. The package has no goroutines and no locks.
package doctor
