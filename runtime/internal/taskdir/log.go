package taskdir

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"corral/runtime/rtapi"
)

// MarkSize is the size of a record of log.idx: offset and time in nanoseconds since 1970, both 8 bytes, little endian.
const MarkSize = 16

// maxMarks bounds one answer.
const maxMarks = 64 << 10

// AppendMark encodes a record of log.idx.
func AppendMark(b []byte, m rtapi.LogMark) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Offset))           //nolint:gosec // never negative
	return binary.LittleEndian.AppendUint64(b, uint64(m.At.UnixNano())) //nolint:gosec // after 1970
}

// Marks returns when the bytes from offset from on came: the mark they belong to and those after it, in rising order.
func Marks(dir string, from int64) ([]rtapi.LogMark, error) {
	f, err := os.Open(filepath.Join(dir, IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := int(info.Size() / MarkSize) // a torn last record does not count
	var raw [MarkSize]byte
	at := func(i int) rtapi.LogMark {
		if _, err := f.ReadAt(raw[:], int64(i)*MarkSize); err != nil {
			return rtapi.LogMark{}
		}
		return decodeMark(raw[:])
	}
	first := max(0, sort.Search(n, func(i int) bool { return at(i).Offset > from })-1)
	n = min(n-first, maxMarks)
	b := make([]byte, n*MarkSize)
	if _, err := f.ReadAt(b, int64(first)*MarkSize); err != nil && n > 0 {
		return nil, err
	}
	marks := make([]rtapi.LogMark, n)
	for i := range marks {
		marks[i] = decodeMark(b[i*MarkSize:])
	}
	return marks, nil
}

func decodeMark(b []byte) rtapi.LogMark {
	return rtapi.LogMark{
		Offset: int64(binary.LittleEndian.Uint64(b)),                         //nolint:gosec // as written
		At:     time.Unix(0, int64(binary.LittleEndian.Uint64(b[8:]))).UTC(), //nolint:gosec // as written
	}
}

// Find returns where text begins first among the bytes of the log from one offset up to another, negative for nowhere.
func Find(ctx context.Context, dir string, text []byte, from, to int64) (int64, error) {
	f, err := os.Open(filepath.Join(dir, LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	const piece = 256 << 10
	buf := make([]byte, piece+len(text)-1) // a place may reach over the end of a piece
	for off := from; off < to && ctx.Err() == nil; off += piece {
		part := buf[:min(piece, to-off)+int64(len(text)-1)]
		n, err := f.ReadAt(part, off)
		if i := bytes.Index(part[:n], text); i >= 0 {
			return off + int64(i), nil
		}
		if errors.Is(err, io.EOF) {
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
	}
	return -1, ctx.Err()
}

// LogInfo describes the log as it is now; Ended is left to the caller.
func LogInfo(dir string) (rtapi.LogInfo, error) {
	var info rtapi.LogInfo
	cut, err := Read[Cut](dir, CutFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	st, err := os.Stat(filepath.Join(dir, LogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if err == nil {
		info.Size = st.Size()
	}
	info.CutFrom, info.CutTo = cut.From, cut.To
	return info, nil
}
