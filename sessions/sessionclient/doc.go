// Package sessionclient is the Go client of the sessions API: requests, the watch of the session list, and the viewer's
// stream, the latter two mending themselves. It never creates, starts or restarts anything by itself.
package sessionclient
