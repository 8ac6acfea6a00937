// Package server is the server role: it wires the database, the runtime's event stream, the reconciler and the API
// together and keeps them going. It holds nothing of a terminal; it may be killed at any moment.
//
// The API answers from the first moment on, whatever is away: the database is brought up and followed by one goroutine,
// the runtime's events by another, and both tell the board, from which lists and watches are answered.
package server
