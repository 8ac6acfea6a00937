// Package daemon wires the runtime role: the private tmux server, the recorder, the inventory and its events, the
// viewers and the HTTP API.
//
// What it promises: the inventory is listed only when tmux says that something happened, requests are answered from
// what was listed last, and an idle runtime sends tmux nothing. An inventory is never reported while the tmux server
// is not known: that is an error. Once Run's context ends nothing more is reported, because a host that shuts down may
// end the programs before it ends us.
//
// Goroutines of Run: the tmux server's, the inventory's loop, the tasks' (see runtime/internal/task), the recorder's keeper, the HTTP server with one per
// request, and the viewers' (see runtime/internal/attach). Run returns when all have ended.
//
// Locks: inventory.mu guards the cache and the subscribers; nothing slow happens under it. terminals.locks has one lock
// per terminal, held over whatever changes that terminal, so that two requests for one terminal never mix.
package daemon
