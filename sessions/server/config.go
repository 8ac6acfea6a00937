package server

import (
	"context"
	"log/slog"
	"net"
	"time"

	"corral/sessions"
	"corral/sessions/internal/pgcluster"
)

// Config is everything the server role is handed; it reads nothing from the environment.
type Config struct {
	// Listener accepts the API's connections. Whoever made it has checked its path and its peers.
	Listener net.Listener
	// Socket is the path of that listener, for status.
	Socket string
	// RuntimeSocket is the path of the runtime's unix socket.
	RuntimeSocket string
	// StartRuntime starts the runtime; nil: never start it. It returns when the runtime answers, or says why not.
	StartRuntime func(ctx context.Context) error
	// DownMarker reports whether `corral down` left its marker: then nothing is started. nil means no.
	DownMarker func() bool
	Database   Database
	// ReplayLines is how many history lines a stream gets whose viewer named no number.
	ReplayLines int
	// Agents are the agents that sessions can run; nil: those that are built in.
	Agents sessions.Profiles
	// ReconcileEvery is the time between rounds of the reconciler; 0 means 15 s.
	ReconcileEvery time.Duration
	// EventsKept is how long events are kept; 0: for ever.
	EventsKept time.Duration
	// Home is what a leading ~ in a directory means; "" is the home that the user database names.
	Home string
	// Node is the name of this machine.
	Node string
	// Version is the version of the binary.
	Version string
	Log     *slog.Logger
}

// Database says where the metadata is: an external PostgreSQL when URL is set, else a private cluster.
type Database struct {
	URL string

	Dir       string // the private cluster's data directory
	SocketDir string // at most 93 bytes
	LogDir    string
	RunAsUser string // "" or, when root, "postgres"
}

// Kind is what status calls the database.
func (d Database) Kind() string {
	if d.URL != "" {
		return "external"
	}
	return "private"
}

// cluster returns the private cluster, nil when the database is external.
func (cfg Config) cluster() *pgcluster.Cluster {
	d := cfg.Database
	if d.URL != "" {
		return nil
	}
	return pgcluster.New(pgcluster.Config{
		Dir: d.Dir, SocketDir: d.SocketDir, LogDir: d.LogDir, RunAsUser: d.RunAsUser, Log: cfg.Log,
	})
}
