// Package httpapi is the sessions API on HTTP: routes, JSON, errors, the watch, and the relay of viewers' streams to the
// runtime. It holds no state of its own but the requests in flight.
//
// Each request has a deadline; what changes something goes on to its end even if the client hangs up, because half a
// change serves nobody. Watches, followed events and streams last until their client leaves or the server stops; all of
// them end when the context of New does, and Wait waits for those that net/http no longer counts.
package httpapi
