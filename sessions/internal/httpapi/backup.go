package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// copyTimeout bounds a backup or a restore as a whole.
	copyTimeout = 10 * time.Minute
	// maxBackup bounds the body of a restore.
	maxBackup = 4 << 30
)

// backup sends a copy of the metadata. What fails after its first byte cuts the answer off: a backup without its last
// line is none.
func (a *API) backup(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), copyTimeout)
	defer cancel()
	out := &patientWriter{w: w, rc: http.NewResponseController(w)}
	err := a.cfg.Service.Backup(ctx, out)
	switch {
	case err == nil:
		_ = out.rc.SetWriteDeadline(time.Time{}) // the connection serves the next request
	case !out.begun:
		a.fail(w, r, err)
	default:
		a.cfg.Log.Warn("backup cut off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// patientWriter gives up a reader that takes nothing for writeTimeout.
type patientWriter struct {
	w     io.Writer
	rc    *http.ResponseController
	begun bool
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.begun = true
	if err := p.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// restore replaces the metadata by those in the body.
func (a *API) restore(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), copyTimeout)
	defer cancel()
	restored, err := a.cfg.Service.Restore(ctx, http.MaxBytesReader(w, r.Body, maxBackup))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.write(w, r, http.StatusOK, restored)
}
