package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"corral/sessions"
)

// Lengths that the kernel and PostgreSQL set: sun_path holds 108 bytes with its terminator (unix(7)), and PostgreSQL
// appends /.s.PGSQL.5432 to the name of its directory.
const (
	MaxSocket         = 107
	MaxPostgresSocket = MaxSocket - len("/.s.PGSQL.5432")
)

// Role names a process of Corral. It is the word on the command line, and names the role's socket, lock and log.
type Role string

// The roles that run in the background.
const (
	Server   Role = "server"
	Runtime  Role = "runtime"
	Recorder Role = "recorder"
	Tmux     Role = "tmux"
)

// Paths are the places of one Corral. Two Corrals with different data directories share none of them.
type Paths struct {
	Data   string // the data directory, with symbolic links resolved
	Run    string // sockets
	Config string // the configuration file
	// ConfigGiven is true when CR_CONFIG named the file: then it must exist.
	ConfigGiven bool
	Postgres    Postgres

	uid int // whose directories these must be
}

// Postgres says where the private cluster lies and who runs it.
type Postgres struct {
	Dir       string // data directory of the cluster
	SocketDir string
	LogDir    string
	RunAs     string // user that must run it; "" means ourselves
}

// Paths computes the places. It resolves symbolic links but creates nothing.
func (e Environment) Paths() (Paths, error) {
	return e.paths(os.Geteuid())
}

func (e Environment) paths(uid int) (Paths, error) {
	data, err := realPath(firstSet(e.DataDir, filepath.Join(e.DataHome, "corral")))
	if err != nil {
		return Paths{}, fmt.Errorf("resolve the data directory: %w", err)
	}
	p := Paths{
		Data:        data,
		Config:      firstSet(e.ConfigFile, filepath.Join(e.ConfigHome, "corral", "config.toml")),
		ConfigGiven: e.ConfigFile != "",
		uid:         uid,
	}
	if p.Run, err = e.runDir(data, uid); err != nil {
		return Paths{}, err
	}
	if p.Postgres, err = p.postgres(); err != nil {
		return Paths{}, err
	}
	return p, nil
}

// runDir picks the directory of the sockets. It is never $XDG_RUNTIME_DIR, which vanishes with the last login and would
// take the sockets of living sessions with it.
func (e Environment) runDir(data string, uid int) (string, error) {
	if e.RunDir != "" {
		run, err := realPath(e.RunDir)
		if err != nil {
			return "", fmt.Errorf("resolve the run directory: %w", err)
		}
		if why := tooLong(run, uid); why != "" {
			return "", invalid("CR_RUN_DIR is too long: "+why, "set CR_RUN_DIR to a shorter path")
		}
		return run, nil
	}
	run := filepath.Join(data, "run")
	why := tooLong(run, uid)
	if why == "" {
		return run, nil
	}
	if uid == 0 {
		return "/run/corral-" + hash(data), nil
	}
	return "", invalid("the data directory's path is too long: "+why, "set CR_RUN_DIR to a short directory that survives logout, or CR_DATA_DIR to a shorter one")
}

// tooLong says which socket below run would not fit, "" if all do. Root's PostgreSQL has its socket elsewhere.
func tooLong(run string, uid int) string {
	longest := filepath.Join(run, socketName(Recorder))
	if len(longest) > MaxSocket {
		return fmt.Sprintf("a socket's path may have %d bytes and %s has %d", MaxSocket, longest, len(longest))
	}
	if dir := filepath.Join(run, "pg"); uid != 0 && len(dir) > MaxPostgresSocket {
		return fmt.Sprintf("PostgreSQL's socket directory may have %d bytes and %s has %d", MaxPostgresSocket, dir, len(dir))
	}
	return ""
}

// postgres places the private cluster. PostgreSQL refuses to run as root, and the user postgres can reach neither a
// 0700 data directory of root nor a socket in it, so as root all of it lies under /var/lib/corral, named in postgres.path.
func (p Paths) postgres() (Postgres, error) {
	if p.uid != 0 {
		return Postgres{Dir: filepath.Join(p.Data, "postgres"), SocketDir: filepath.Join(p.Run, "pg"), LogDir: p.LogDir()}, nil
	}
	home := filepath.Join("/var/lib/corral", hash(p.Data))
	named, err := os.ReadFile(p.postgresPath())
	if err == nil {
		dir := strings.TrimSuffix(string(named), "\n")
		if !filepath.IsAbs(dir) || filepath.Base(dir) != "pg" {
			return Postgres{}, invalid(p.postgresPath()+" does not name the directory of a private PostgreSQL",
				"restore it; the cluster made for this data directory would be "+filepath.Join(home, "pg"))
		}
		home = filepath.Dir(dir)
	}
	return Postgres{
		Dir: filepath.Join(home, "pg"), SocketDir: filepath.Join(home, "run"), LogDir: filepath.Join(home, "log"),
		RunAs: "postgres",
	}, nil
}

func (p Paths) postgresPath() string { return filepath.Join(p.Data, "postgres.path") }

func socketName(r Role) string { return string(r) + ".sock" }

// Socket returns the path of a role's unix socket.
func (p Paths) Socket(r Role) string { return filepath.Join(p.Run, socketName(r)) }

// Lock returns the path of the lock that a role holds while it runs: one of each per data directory, whatever the
// environment says about sockets.
func (p Paths) Lock(r Role) string { return filepath.Join(p.Data, "lock", string(r)) }

// LogDir returns the directory of the logs.
func (p Paths) LogDir() string { return filepath.Join(p.Data, "log") }

// Log returns the path of a role's log.
func (p Paths) Log(r Role) string { return filepath.Join(p.LogDir(), string(r)+".log") }

// Output returns the path of the file that takes what a role prints: only the trace of a crash.
func (p Paths) Output(r Role) string { return filepath.Join(p.LogDir(), string(r)+".out") }

// Journal returns the directory of the sessions' journals.
func (p Paths) Journal() string { return filepath.Join(p.Data, "journal") }

// DownMarker returns the path of the file that `corral down` leaves: while it exists nothing is started by itself.
func (p Paths) DownMarker() string { return filepath.Join(p.Data, "down") }

// Focus returns the path of the file that remembers the session which the dashboard showed last.
func (p Paths) Focus() string { return filepath.Join(p.Data, "focus") }

// Terminals returns the path, to be completed with the terminal's number, of the file that says that a dashboard has
// changed that terminal's modes, so that the next start on it can reset them after a kill.
func (p Paths) Terminals() string { return filepath.Join(p.Data, "terminals", "tty") }

// Environ returns the environment for a daemon of this Corral: what may be inherited, and these very paths, so that the
// daemon finds the same places from another working directory.
func (p Paths) Environ(e Environment) []string {
	env := append([]string{}, e.Inherited...)
	env = append(env, "CR_DATA_DIR="+p.Data, "CR_RUN_DIR="+p.Run)
	if p.ConfigGiven {
		env = append(env, "CR_CONFIG="+p.Config)
	}
	if e.DatabaseURL != "" {
		env = append(env, "CR_DATABASE_URL="+e.DatabaseURL)
	}
	return env
}

// ID tells the data directory from others: twelve hexadecimal digits.
func (p Paths) ID() string { return hash(p.Data) }

// hash names a data directory where its path does not fit.
func hash(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])[:12]
}

// realPath resolves the symbolic links of the part of path that exists.
func realPath(path string) (string, error) {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return "", &sessions.Error{
				Code: sessions.CodeInvalid, Cause: err,
				Message: fmt.Sprintf("%s cannot be reached: %s", path, reason(err)),
				Hint:    "check its parent directories, or set CR_DATA_DIR to a place of your own",
			}
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
