// Package agent finds out what the agents in the terminals are doing, from evidence alone: what their hooks tell, the
// file that newer versions of Claude Code keep of each session, the end of the conversation's transcript for older ones,
// and the life of the process. Screens are not read.
//
// Which evidence counts, and for how long, is decided by evidence.status, which is pure. Watcher gathers it.
//
// Watcher.Run is one goroutine that owns everything, fed by a bounded queue, and a second one that reads inotify; both end
// with its context. There is no lock.
package agent
