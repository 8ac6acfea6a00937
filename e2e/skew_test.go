package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/sessions"
)

// TestVersionSkew: a client and a server of different major versions of the API say so in one sentence, whichever is
// the newer one; a server that cannot be talked to can still be stopped.
func TestVersionSkew(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.OK("up")

	// A client of tomorrow asks the server of today.
	socket := c.Status().Server.Socket
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://corral/v1/sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set(sessions.VersionHeader, "99.0")
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body sessions.ErrorBody
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || answer.StatusCode != http.StatusBadRequest ||
		body.Error.Message == "" || body.Error.Hint == "" || answer.Header.Get(sessions.VersionHeader) != sessions.APIVersion {
		t.Errorf("%d, %v, %+v", answer.StatusCode, err, body.Error)
	}

	// The client of today asks a server of tomorrow, which answers as ours does.
	path := filepath.Join(c.Dir, "tomorrow.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(sessions.VersionHeader, "99.0")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(body)
	})}
	served := make(chan struct{})
	go func() { _ = tomorrow.Serve(l); close(served) }()
	defer func() { _ = tomorrow.Close(); <-served }()
	away := harness.New(t)
	away.Setenv("CR_SERVER", "unix://"+path)
	for _, verb := range [][]string{args("ls"), args("status"), args("new", "--cwd", "/")} {
		play(t, away, badInput{"skew", nil, verb, 2, `speaks version .* of the API and the client .*; use the same corral on both sides`})
	}
	c.OK("down")
}
