// Package terminal owns the user's terminal.
package terminal
