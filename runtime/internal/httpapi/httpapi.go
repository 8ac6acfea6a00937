// Package httpapi serves the runtime's API on its unix socket.
package httpapi
