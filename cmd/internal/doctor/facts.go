package doctor

import "time"

// Facts are what the checks look at. An error in one of them is what the part itself says when it refuses to work.
type Facts struct {
	User     string // who asks, by name
	Config   Config
	Data     Data
	Sockets  []Socket
	Disks    []Disk
	Tmux     Tmux
	Database Database
	Terminal Terminal
	Clock    Clock
	Roles    []Role
	Down     bool // `corral down` left its mark
}

// Config is the configuration file.
type Config struct {
	Path  string
	Found bool
	Err   error
}

// Data is the data directory with all that lies in it.
type Data struct {
	Path     string
	Exists   bool
	Err      error // who owns it, what mode it has
	WriteErr error // whether we may write there, or where it would be made
}

// Socket is the path of a unix socket and the length that it may have.
type Socket struct {
	Path string
	Most int // bytes
}

// Disk is the room on the file system of a directory.
type Disk struct {
	Name       string // for people
	Path       string
	Free, All  uint64 // bytes; free for us, not for root
	FreeInodes uint64 // of AllInodes; both 0 where the file system does not count them
	AllInodes  uint64
	Err        error
}

// Tmux is what the runtime would find, or has found.
type Tmux struct {
	Binary, Version string
	PID             int      // of the private server, 0 when it does not run
	Wrong           []string // options of that server that are not as they must be
	Placement       string   // unit, scope or session
	SurvivesLogout  string   // true, false or unknown
	CanLinger       bool     // enable-linger would help
	Err             error
}

// Database is what the server would find, or has found.
type Database struct {
	Kind    string // private or external
	Version string
	Dir     string // of the private cluster
	Made    bool   // the private cluster exists
	PID     int    // of its postmaster, 0 when it does not run
	Err     error
}

// Terminal is what the environment says of the terminal.
type Terminal struct {
	Term, Locale       string
	TermErr, LocaleErr error
	Interactive        bool // we are on it now
}

// Clock is the machine's clock.
type Clock struct {
	Now          time.Time
	Synchronized bool
	Newest       time.Time // the youngest file that Corral has written; zero without one
}

// Role is a process that should be one per data directory: it holds a lock and listens on a socket.
type Role struct {
	Name    string
	Lock    int // who holds the lock, 0 for nobody
	LockErr error
	Listens int  // who listens on the socket, 0 for nobody
	Stale   bool // the socket's file is there and nobody listens
	Socket  string
	Version string // that it runs, where known
	Ours    string // our own version
}
