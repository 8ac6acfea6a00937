package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/journal"
)

// Requests to the fd store.
const (
	handoffVerb = "handoff "
	clientVerb  = "client"
	watchVerb   = "watch"
)

// Words between the fd store and the worker, messages of a seqpacket socket: the first two are followed by a number, that
// of the descriptor's slot, pipeWord also by a name, and carry the descriptor; endedWord is followed by the number.
const (
	pipeWord   = "pipe"
	clientWord = "client"
	readyWord  = "ready" // all that was held has been sent
	endedWord  = "ended"
)

// Descriptors that a worker is born with.
const (
	controlFD = 3
	slotsFD   = 4
)

// maxSlots is how many descriptors are held at most, far more than a node has sessions.
const maxSlots = 16 << 10

// slots is memory that outlives the worker: for each descriptor, what was being taken from it.
type slots struct{ file *os.File }

const slotSize = 16

// get returns the two numbers of a slot. Of a pipe: the sequence that is given to what is about to be taken, and how
// many bytes that is, 0 when nothing is. Of a client: the number of the last message that was dealt
// with, and 0, or of the one that is being dealt with, and the sequence that its record gets.
func (s slots) get(n int) (a, b int64, err error) {
	var p [slotSize]byte
	if _, err := s.file.ReadAt(p[:], int64(n)*slotSize); err != nil {
		return 0, 0, fmt.Errorf("read slot %d: %w", n, err)
	}
	return int64(binary.LittleEndian.Uint64(p[:])), int64(binary.LittleEndian.Uint64(p[8:])), nil //nolint:gosec // as written
}

func (s slots) set(n int, a, b int64) error {
	var p [slotSize]byte
	binary.LittleEndian.PutUint64(p[:], uint64(a))  //nolint:gosec // as read
	binary.LittleEndian.PutUint64(p[8:], uint64(b)) //nolint:gosec // likewise
	if _, err := s.file.WriteAt(p[:], int64(n)*slotSize); err != nil {
		return fmt.Errorf("write slot %d: %w", n, err)
	}
	return nil
}

func newSlots() (slots, error) {
	fd, err := unix.MemfdCreate("corral-recorder", unix.MFD_CLOEXEC)
	if err != nil {
		return slots{}, fmt.Errorf("make the recorder's memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "slots")
	if err := f.Truncate(maxSlots * slotSize); err != nil {
		return slots{}, errors.Join(fmt.Errorf("make the recorder's memory: %w", err), f.Close())
	}
	return slots{f}, nil
}

// message is what the runtime and the worker tell each other over a client's socket.
type message struct {
	// N counts the runtime's messages of one socket, so that none is dealt with twice. An answer has the question's.
	N        int64           `json:"n,omitempty"`
	Op       string          `json:"op"`
	ID       string          `json:"id,omitempty"`
	Record   *journal.Record `json:"record,omitempty"`
	Sequence int64           `json:"sequence,omitempty"`
	Text     string          `json:"text,omitempty"`
	Asked    bool            `json:"asked,omitempty"`
}

// The operations: the runtime's, then the worker's.
const (
	opAppend   = "append"   // Record to the journal of ID
	opSequence = "sequence" // which is the last sequence of ID? answered with Sequence
	opRemove   = "remove"   // the journal of ID; answered
	opKeys     = "keys"     // has the program of ID asked for keys with modifiers? answered with Asked
	opHello    = "hello"    // from now on this socket is emptied before any pipe is; Text as of opWarning
	opSnapshot = "snapshot" // the screen of ID is worth one
	opWarning  = "warning"  // what is wrong, "" when nothing is any more
)

// maxMessage is the longest message; a socket takes a message whole or not at all.
const maxMessage = 160 << 10

// packetPair makes a pair of seqpacket sockets: what is written together is read together.
func packetPair() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	for _, fd := range fds {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4*maxMessage) // the default takes one message
	}
	return os.NewFile(uintptr(fds[0]), "packets"), os.NewFile(uintptr(fds[1]), "packets"), nil
}

// packetConn makes a connection of a seqpacket socket, which it closes.
func packetConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close() //nolint:errcheck // FileConn has duplicated it
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use a socket: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a socket of type %T cannot carry descriptors", c), c.Close())
	}
	return uc, nil
}

// unixConn finds the unix connection in one that a listener may have wrapped.
func unixConn(conn net.Conn) (*net.UnixConn, bool) {
	for {
		switch c := conn.(type) {
		case *net.UnixConn:
			return c, true
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil, false
		}
	}
}

// receive reads one line and the descriptor that comes with it, nil without one.
func receive(conn *net.UnixConn) (line string, file *os.File, err error) {
	buf, oob := make([]byte, maxRequest), make([]byte, unix.CmsgSpace(4*4))
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return "", nil, fmt.Errorf("read a request: %w", err)
	}
	files, err := descriptors(oob[:oobn])
	if err == nil && (len(files) > 1 || flags&unix.MSG_CTRUNC != 0) {
		err = errors.New("more than one descriptor")
	}
	line, whole := strings.CutSuffix(string(buf[:n]), "\n")
	if err == nil && (!whole || strings.ContainsRune(line, '\n')) {
		err = errors.New("the request is not one line") // it was written in one piece, and is read in one
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close() // refused
		}
		return "", nil, fmt.Errorf("read a request: %w", err)
	}
	if len(files) == 1 {
		file = files[0]
	}
	return line, file, nil
}

// send writes one line, with a descriptor if there is one.
func send(conn *net.UnixConn, line string, file *os.File) error {
	var rights []byte
	if file != nil {
		raw, err := file.SyscallConn()
		if err != nil {
			return fmt.Errorf("send a descriptor: %w", err)
		}
		// Not Fd, which would make it blocking.
		if err := raw.Control(func(fd uintptr) { rights = unix.UnixRights(int(fd)) }); err != nil {
			return fmt.Errorf("send a descriptor: %w", err)
		}
	}
	if _, _, err := conn.WriteMsgUnix([]byte(line+"\n"), rights, nil); err != nil {
		return fmt.Errorf("send %q: %w", line, err)
	}
	return nil
}

func descriptors(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // some other kind of message
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			// Without O_NONBLOCK the poller would not have it and each pipe would cost a thread.
			nberr := unix.SetNonblock(fd, true)
			f := os.NewFile(uintptr(fd), "pipe")
			files = append(files, f)
			err = errors.Join(err, nberr)
		}
		if err != nil {
			return files, fmt.Errorf("take a descriptor: %w", err)
		}
	}
	return files, nil
}
