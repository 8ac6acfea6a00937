package logview

import (
	"fmt"
	"os"

	"corral/sessions"
)

// saving is a copy of the log that is being written.
type saving struct {
	file       *os.File
	path       string
	size, done int64
	buf        []byte
}

// save begins to copy the log, as large as it is now, into a new file.
func (e *engine) save(path string) {
	if e.saving != nil {
		e.notice = "another copy is being written"
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		e.notice = "cannot save: " + sessions.CleanLine(err.Error(), 200)
		return
	}
	e.saving = &saving{file: f, path: path, size: e.text.size, buf: make([]byte, chunkSize)}
}

// keepSaving copies one chunk.
func (e *engine) keepSaving() {
	s := e.saving
	n, err := e.text.read(e.ctx, s.buf[:min(chunkSize, s.size-s.done)], s.done)
	if err == nil {
		_, err = s.file.Write(s.buf[:n])
		s.done += int64(n)
	}
	if err == nil && s.done < s.size {
		return
	}
	if closing := e.endSaving(); err == nil {
		err = closing
	}
	if err != nil {
		e.notice = "cannot save: " + sessions.CleanLine(err.Error(), 200)
		return
	}
	e.notice = fmt.Sprintf("saved %s to %s", size(s.size), sessions.CleanLine(s.path, 200))
}

// endSaving closes the file; a copy that was broken off stays as far as it got.
func (e *engine) endSaving() error {
	s := e.saving
	if s == nil {
		return nil
	}
	e.saving = nil
	return s.file.Close()
}

func (s *saving) doing() string { return fmt.Sprintf("saving %d%%", s.done*100/max(s.size, 1)) }
