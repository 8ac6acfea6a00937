package spawn

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"corral/sessions"
)

// report is what a started role tells whoever started it, as one JSON value on the inherited pipe.
type report struct {
	Ready bool            `json:"ready,omitempty"` // it listens
	Held  bool            `json:"held,omitempty"`  // another process has the role
	Error *sessions.Error `json:"error,omitempty"` // it cannot run
}

// Starter is the process that waits for our start. The nil Starter is valid and is told nothing: the role was started
// by hand.
type Starter struct{ pipe *os.File }

// NewStarter returns the starter behind an inherited descriptor.
func NewStarter(fd int) (*Starter, error) {
	// What this process starts itself must not keep the pipe open.
	unix.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "starter")
	info, err := pipe.Stat()
	if err != nil {
		return nil, &sessions.Error{Code: sessions.CodeInvalid, Message: "the descriptor to report the start to is not open", Cause: err}
	}
	if info.Mode()&os.ModeNamedPipe == 0 {
		return nil, &sessions.Error{Code: sessions.CodeInvalid, Message: "the descriptor to report the start to is no pipe"}
	}
	return &Starter{pipe: pipe}, nil
}

// Ready says that the role listens. Only the first report counts.
func (s *Starter) Ready() { s.tell(report{Ready: true}) }

// Held says that another process has the role.
func (s *Starter) Held() { s.tell(report{Held: true}) }

// Failed says why the role cannot run.
func (s *Starter) Failed(err error) {
	var e *sessions.Error
	if !errors.As(err, &e) {
		e = &sessions.Error{Code: sessions.CodeInternal, Message: err.Error()}
	}
	s.tell(report{Error: e})
}

// tell writes r and closes the pipe. That nobody reads any more (the starter gave up or was killed) is no error.
func (s *Starter) tell(r report) {
	if s == nil || s.pipe == nil {
		return
	}
	_ = json.NewEncoder(s.pipe).Encode(r)
	_ = s.pipe.Close()
	s.pipe = nil
}

// readReport reads what the child said; io.EOF means that it ended without a word.
func readReport(pipe io.Reader) (report, error) {
	var r report
	err := json.NewDecoder(io.LimitReader(pipe, 64<<10)).Decode(&r)
	return r, err
}
