// Package server is the server role: it wires the database, the runtime's event stream, the reconciler and the API
// together and keeps them going. It holds nothing of a terminal; it may be killed at any moment.
package server
