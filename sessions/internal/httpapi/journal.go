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
	// A session that was removed may have left its journal; nothing will come to it.
	_, gone := a.cfg.Service.Get(ctx, id(r))
	if gone != nil && (!errors.Is(gone, sessions.ErrNotFound) || r.URL.Query().Get("follow") == "true") {
		a.fail(w, r, gone)
		return
	}
	body, err := a.cfg.Journal(ctx, string(id(r)), r.URL.RawQuery)
	if err != nil {
		var refused *rtapi.Error
		switch {
		case !errors.As(err, &refused):
			err = &sessions.Error{Code: sessions.CodeRuntimeUnreachable, Message: "the runtime does not answer", Hint: "try again", Cause: err}
		case sessions.Code(refused.Code) == sessions.CodeNotFound && gone == nil:
			w.Header().Set("Content-Type", "application/x-ndjson") // nothing is recorded
			return
		case sessions.Code(refused.Code) == sessions.CodeNotFound:
			err = gone
		default:
			err = &sessions.Error{Code: sessions.Code(refused.Code), Message: refused.Message, Hint: refused.Hint}
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
