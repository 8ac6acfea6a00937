// Package pgcluster owns the private PostgreSQL cluster of a data directory.
package pgcluster

import (
	"context"
	"errors"
	"log/slog"
)

// Config says where the private cluster lives and as whom it runs.
type Config struct {
	Dir       string // the data directory of the cluster; made when missing
	SocketDir string // the directory of its socket, at most 93 bytes; made when missing
	LogDir    string // where postgres.log goes; made when missing
	RunAsUser string // the user PostgreSQL runs as, "postgres" when we are root; "" is ourselves
	Log       *slog.Logger
}

// Cluster is a private PostgreSQL cluster.
type Cluster struct{ cfg Config }

// New returns the cluster that cfg describes; it touches nothing yet.
func New(cfg Config) *Cluster { return &Cluster{cfg: cfg} }

// URL returns where the cluster is reached once it runs.
func (c *Cluster) URL() string { return "" }

// Ensure makes the cluster when there is none, starts it or adopts the running one, and returns its URL when it is
// ready.
func (c *Cluster) Ensure(ctx context.Context) (url string, err error) {
	return "", errors.New("not written yet")
}

// Watch keeps a cluster that Ensure has started alive until ctx ends.
func (c *Cluster) Watch(ctx context.Context) error { return errors.New("not written yet") }

// Stop ends the cluster's postmaster with a fast shutdown; one that does not run is no error. End Watch before.
func (c *Cluster) Stop(ctx context.Context) error { return errors.New("not written yet") }
