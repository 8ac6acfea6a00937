package paths

import (
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"corral/sessions"
)

// Environment is what Corral takes from the environment of its process.
type Environment struct {
	DataDir     string // CR_DATA_DIR, absolute; "" when unset
	RunDir      string // CR_RUN_DIR, absolute; "" when unset
	ConfigFile  string // CR_CONFIG, absolute; "" when unset
	DatabaseURL string // CR_DATABASE_URL, without a password; "" when unset
	Server      string // CR_SERVER; "" when unset
	ReplayLines int    // CR_REPLAY_LINES; -1 when unset

	Home       string // absolute
	DataHome   string // XDG_DATA_HOME or its default
	ConfigHome string // XDG_CONFIG_HOME or its default

	Term      string // TERM
	ColorTerm string // COLORTERM
	NoColor   string // NO_COLOR; any value but "" switches colours off (no-color.org)
	Locale    string // what decides the character set: LC_ALL, LC_CTYPE or LANG
	Wayland   string // WAYLAND_DISPLAY
	X11       string // DISPLAY
	SSHClient string // address of the client when this is an SSH login, "" otherwise
	// SSHAuthSock is SSH_AUTH_SOCK when it is an absolute path, "" otherwise.
	SSHAuthSock string

	// Inherited are the K=V that daemons and the tmux server get; nothing else of the environment reaches them, so
	// that no secret of whoever typed the first command lives on in a process that outlasts the login.
	Inherited []string
}

// inherited reports whether a daemon, and through it a session, may see a variable of the environment that started it.
// The last two are there because `systemd-run --user` needs them.
func inherited(name string) bool {
	switch name {
	case "PATH", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
		"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// Read reads the environment of this process.
func Read() (Environment, error) {
	return read(os.Getenv, os.Environ(), passwdHome)
}

// Pick returns the K=V of these names alone, for a process that needs nothing else.
func Pick(names []string) []string {
	var list []string
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+v)
		}
	}
	return list
}

func read(getenv func(string) string, environ []string, passwdHome func() (string, error)) (Environment, error) {
	e := Environment{
		Server:      getenv("CR_SERVER"),
		ReplayLines: -1,
		Term:        getenv("TERM"),
		ColorTerm:   getenv("COLORTERM"),
		NoColor:     getenv("NO_COLOR"),
		SSHAuthSock: firstAbsolute(getenv("SSH_AUTH_SOCK")),
		Wayland:     getenv("WAYLAND_DISPLAY"),
		X11:         getenv("DISPLAY"),
		Locale:      firstSet(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")),
	}
	if client, _, ok := strings.Cut(getenv("SSH_CONNECTION"), " "); ok {
		e.SSHClient = client
	}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); inherited(name) {
			e.Inherited = append(e.Inherited, kv)
		}
	}

	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = passwdHome(); err != nil {
			return Environment{}, &sessions.Error{
				Code: sessions.CodeInvalid, Cause: err,
				Message: "HOME is not set and the user database names no home directory",
				Hint:    "set HOME, or CR_DATA_DIR and CR_CONFIG",
			}
		}
	}
	e.Home = home
	e.Inherited = append(e.Inherited, "HOME="+home)
	// The XDG specification says that a relative path is to be ignored.
	e.DataHome = firstAbsolute(getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share"))
	e.ConfigHome = firstAbsolute(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))

	for _, v := range []struct {
		name string
		to   *string
	}{{"CR_DATA_DIR", &e.DataDir}, {"CR_RUN_DIR", &e.RunDir}, {"CR_CONFIG", &e.ConfigFile}} {
		if err := absolute(v.name, getenv(v.name), v.to); err != nil {
			return Environment{}, err
		}
	}
	if lines := getenv("CR_REPLAY_LINES"); lines != "" {
		n, err := strconv.Atoi(lines)
		if err != nil || n < 0 {
			return Environment{}, invalid("CR_REPLAY_LINES is no number of lines", "set it to 0 or more, as CR_REPLAY_LINES=2000")
		}
		e.ReplayLines = n
	}
	var err error
	e.DatabaseURL, err = databaseURL(getenv("CR_DATABASE_URL"), getenv("PGPASSFILE"))
	return e, err
}

// databaseURL refuses a password, which the environment would show in /proc and hand on, and puts the password file
// into the URL, since the server that reads it starts without this environment.
func databaseURL(dsn, passfile string) (string, error) {
	if dsn == "" {
		return "", nil
	}
	hint := "write it into a password file with mode 0600 and name that in PGPASSFILE"
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return "", invalid("CR_DATABASE_URL is no PostgreSQL URL", "write it as postgres://user@host:5432/database")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		// The parser's own error would show the whole URL.
		return "", invalid("CR_DATABASE_URL cannot be read", "write it as postgres://user@host:5432/database")
	}
	q := u.Query()
	if _, has := u.User.Password(); has || q.Has("password") {
		return "", invalid("CR_DATABASE_URL holds a password, which other programs could read", hint)
	}
	if passfile == "" || q.Has("passfile") {
		return dsn, nil
	}
	if passfile, err = filepath.Abs(passfile); err != nil {
		return "", invalid("PGPASSFILE is a relative path and there is no working directory", hint)
	}
	q.Set("passfile", passfile)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// absolute stores value as an absolute path, "" as "".
func absolute(name, value string, to *string) error {
	if value == "" {
		return nil
	}
	if strings.ContainsAny(value, "\x00\n") {
		return invalid(name+" holds a line break", "set it to a plain path")
	}
	p, err := filepath.Abs(value)
	if err != nil {
		return invalid(name+" is a relative path and there is no working directory", "set it to an absolute path")
	}
	*to = p
	return nil
}

func passwdHome() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(u.HomeDir) {
		return "", user.UnknownUserError(u.Username)
	}
	return u.HomeDir, nil
}

func firstSet(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func firstAbsolute(values ...string) string {
	for _, v := range values {
		if filepath.IsAbs(v) {
			return v
		}
	}
	return ""
}

func invalid(message, hint string) *sessions.Error {
	return &sessions.Error{Code: sessions.CodeInvalid, Message: message, Hint: hint}
}
