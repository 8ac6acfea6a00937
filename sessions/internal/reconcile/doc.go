// Package reconcile makes the rows of sessions agree with what really runs. It observes (the rows first, then the
// runtime's inventory), plans (a pure function that holds every rule), and applies (compare-and-set in the store, so
// that whoever was faster wins and the next round looks again).
//
// Rounds are begun by events, by the times that the last plan asked to be woken at, and at a fixed interval in case an
// event was lost. Nothing is ever started or restarted here. Without a complete inventory nothing is concluded.
//
// Reconciler.Run is the only goroutine. The lock guards what viewers were last seen, and is never held during I/O.
package reconcile
