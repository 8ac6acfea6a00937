// Package paths says where everything of one Corral lies, and is the only reader of the process environment: what the
// other packages need from it they are handed.
//
// Read takes the environment, Environment.Paths computes the places from it without touching the disk, Paths.Prepare
// makes the directories and refuses those that another user could read or replace, Paths.Check does the latter alone
// for verbs that must not create anything. The package starts no goroutine.
package paths
