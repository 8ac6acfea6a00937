package httpapi

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// Tasks does what is asked of tasks.
type Tasks interface {
	Create(ctx context.Context, req rtapi.TaskRequest) (rtapi.Task, error)
	List(ctx context.Context) ([]rtapi.Task, error)
	Get(ctx context.Context, id string) (rtapi.Task, error)
	Cancel(ctx context.Context, id string, req rtapi.CancelRequest) (rtapi.Task, error)
	See(ctx context.Context, id string) (rtapi.Task, error)
	Remove(ctx context.Context, id string) error
	Usage(ctx context.Context) (map[string]rtapi.Usage, error)
	// Log opens the log at offset; nil when there is nothing there. With wait it first waits for that to change.
	Log(ctx context.Context, id string, offset int64, wait bool) (rtapi.LogInfo, *os.File, error)
	// Find looks for text that begins from one offset up to another.
	Find(ctx context.Context, id, text string, from, to int64) (rtapi.LogPlace, error)
	Marks(ctx context.Context, id string, from int64) ([]rtapi.LogMark, error)
}

func (a api) tasks(r *http.Request) (any, error) {
	all, err := a.Tasks.List(r.Context())
	if all == nil {
		all = []rtapi.Task{} // [], not null
	}
	return all, err
}

func (a api) createTask(r *http.Request) (any, error) {
	var req rtapi.TaskRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	return a.Tasks.Create(r.Context(), req)
}

func (a api) task(r *http.Request) (any, error) { return a.Tasks.Get(r.Context(), r.PathValue("id")) }

func (a api) taskUsage(r *http.Request) (any, error) { return a.Tasks.Usage(r.Context()) }

func (a api) removeTask(r *http.Request) (any, error) {
	return nil, a.Tasks.Remove(r.Context(), r.PathValue("id"))
}

func (a api) cancelTask(r *http.Request) (any, error) {
	var req rtapi.CancelRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	return a.Tasks.Cancel(r.Context(), r.PathValue("id"), req)
}

func (a api) seeTask(r *http.Request) (any, error) {
	return a.Tasks.See(r.Context(), r.PathValue("id"))
}

func (a api) logMarks(r *http.Request) (any, error) {
	from, err := offset(r.URL.Query(), "from")
	if err != nil {
		return nil, err
	}
	marks, err := a.Tasks.Marks(r.Context(), r.PathValue("id"), from)
	if marks == nil {
		marks = []rtapi.LogMark{} // likewise
	}
	return marks, err
}

func (a api) findInLog(r *http.Request) (any, error) {
	q := r.URL.Query()
	from, err := offset(q, "from")
	if err != nil {
		return nil, err
	}
	to, err := offset(q, "to")
	if err != nil {
		return nil, err
	}
	text := q.Get("text")
	if text == "" || len(text) > sessions.MaxLogFindText || to-from > sessions.MaxLogFind {
		return nil, &rtapi.Error{Code: "invalid", Message: fmt.Sprintf(
			"a search wants a text of at most %d bytes and at most %d bytes to look through", sessions.MaxLogFindText, sessions.MaxLogFind)}
	}
	return a.Tasks.Find(r.Context(), r.PathValue("id"), text, from, to)
}

// copySize is how much of a log is copied at a time: what a unix socket takes at once (net.core.wmem_default).
const copySize = 208 << 10

// log sends bytes of a task's log. It has no deadline of its own but that of its reader, who must go on reading.
func (a api) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	off, err := offset(q, "offset")
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	limit, err := offset(q, "limit")
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	info, f, err := a.Tasks.Log(r.Context(), r.PathValue("id"), off, q.Get("wait") == "true")
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set(sessions.LogSizeHeader, strconv.FormatInt(info.Size, 10))
	h.Set(sessions.LogEndedHeader, strconv.FormatBool(info.Ended))
	if info.CutTo > 0 {
		h.Set(sessions.LogCutHeader, fmt.Sprintf("%d-%d", info.CutFrom, info.CutTo))
	}
	n := int64(0)
	if f != nil {
		defer f.Close() //nolint:errcheck // nothing was written
		n = min(limit, sessions.MaxLogRead, info.Size-off)
		if off < info.CutFrom {
			n = min(n, info.CutFrom-off)
		}
	}
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	w.WriteHeader(http.StatusOK)
	if n == 0 {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTimeout)) // it can on a socket
	// Not io.Copy: net/http would copy in pieces of 32 KiB, of which each costs two system calls here and in the server.
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(f, n), make([]byte, min(n, copySize))); err != nil {
		a.Log.Debug("log not sent", "err", err)
	}
}

// offset reads a position in a file from the query.
func offset(q url.Values, name string) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/2 {
		return 0, &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%s must be a position, not %q", name, text)}
	}
	return n, nil
}
