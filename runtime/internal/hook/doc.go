// Package hook takes what agents tell: it makes the tokens of sessions, checks the posts of `corral hook` and hands on
// what is true, and empties the spool.
//
// What it promises: a post counts once, for the session and run that its token names, and only when it comes from a
// process of that session's pane. Whatever else comes is refused and counted. The token file outlives the runtime while
// any session's process does, and is made anew when none is alive.
//
// Receiver.Run is the only goroutine; it watches the spool and ends with its context. The lock guards the key, the
// counters and the ids of late posts; files are read under it only in Begin.
package hook
