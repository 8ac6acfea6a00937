package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// journal relays a session's records as the runtime gives them. Its query is the runtime's, which checks it.
func (a *API) journal(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.stop, cancel)()
	s, err := a.cfg.Service.Get(ctx, id(r))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	body, err := a.cfg.Journal(ctx, string(s.ID), r.URL.RawQuery)
	if err != nil {
		var refused *rtapi.Error
		if errors.As(err, &refused) {
			err = &sessions.Error{Code: sessions.Code(refused.Code), Message: refused.Message, Hint: refused.Hint}
		} else {
			err = &sessions.Error{Code: sessions.CodeRuntimeUnreachable, Message: "the runtime does not answer", Hint: "try again", Cause: err}
		}
		a.fail(w, r, err)
		return
	}
	defer body.Close() //nolint:errcheck // nothing was written
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for first := true; ; first = false {
		if first {
			_ = out.Flush() // there may be nothing for long
		}
		n, err := body.Read(buf)
		if n > 0 {
			_ = out.SetWriteDeadline(time.Now().Add(writeTimeout)) // an error shows when writing
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			if err := out.Flush(); err != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // a cut, so that what was sent is not taken for all
		}
	}
}
