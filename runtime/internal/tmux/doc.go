// Package tmux is the only code that runs tmux. It owns one private tmux server: it starts it with an empty
// environment and a configuration of its own, keeps two control clients on it, notices when it is gone, proves that,
// and starts the next one.
//
// What it promises:
//
//   - Server.Run executes a list of commands as one line of one control client, so the list is atomic against pane
//     output and other clients, as long as no command in it waits (run-shell, load-buffer and the like do).
//   - A reply is believed only when the whole exchange fits: full %begin triples, the number of blocks, and a random
//     word that closes each exchange and that no program in a pane can know. Anything else drops the connection and
//     makes a new one.
//   - A second tmux server is never started while the recorded one may still live: the old process must be gone by
//     pid, kernel start time and boot id.
//
// Goroutines: Server.Serve runs the supervising loop and, under it, a watcher of the socket's directory, and for each
// connection two control clients with a reader and a writer each. All have ended when Serve returns.
package tmux
