// Package ws is what the hops of a viewer's stream have in common: a WebSocket whose other side can be watched while it
// reads, and the reading of whole messages without a copy.
//
// A hop must tell a viewer that reads slowly from one that does not read at all. That a write blocks says neither: a
// socket that was once full takes nothing until three quarters of it have been read. How much of what was written is
// still unread says it (Unread), as often as the other side finishes one of the pieces that Conn writes in.
//
// And a hop must not type what is old. A process that was stopped finds in its sockets, when it goes on, what was typed
// meanwhile by viewers that gave up and told their users that it was lost. Next finds out.
package ws
