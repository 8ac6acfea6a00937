// Package service holds the use cases of sessions: create, restart, stop, close, update, remove, and the questions
// about them. Each change of state is one compare-and-set in the store together with its event; what happens between
// two of them may be cut off at any point, because the reconciler brings row and terminal together again from whatever
// is left.
//
// The package also holds the Board: the list of sessions as people see it, in memory, for watchers and viewers, so that
// neither waits for the database.
//
// Service starts no goroutines. The Board's lock is never held during I/O or a send that could block.
package service
