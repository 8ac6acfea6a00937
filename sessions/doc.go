// Package sessions holds the nouns of Corral and their wire form: Session, State and its transitions, Event, the
// frames of the viewer's stream, close codes and error codes. The dashboard, the command line and the server all speak
// in these types. It imports nothing but the standard library, and nothing in it does I/O.
package sessions
