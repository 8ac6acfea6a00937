package paths

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"corral/sessions"
)

// environment reads an environment made of K=V.
func environment(t *testing.T, kv ...string) (Environment, error) {
	t.Helper()
	get := func(name string) string {
		for _, v := range kv {
			if k, value, _ := strings.Cut(v, "="); k == name {
				return value
			}
		}
		return ""
	}
	return read(get, kv, func() (string, error) { return "/home/from-passwd", nil })
}

// places computes the places that a user gets in an environment.
func places(t *testing.T, uid int, kv ...string) Paths {
	t.Helper()
	e, err := environment(t, kv...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.paths(uid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p := places(t, 1000, "HOME=/home/ann")
	for got, want := range map[string]string{
		p.Data:           "/home/ann/.local/share/corral",
		p.Run:            "/home/ann/.local/share/corral/run",
		p.Config:         "/home/ann/.config/corral/config.toml",
		p.Postgres.Dir:   "/home/ann/.local/share/corral/postgres",
		p.Socket(Server): "/home/ann/.local/share/corral/run/server.sock",
		p.Lock(Runtime):  "/home/ann/.local/share/corral/lock/runtime",
		p.Log(Server):    "/home/ann/.local/share/corral/log/server.log",
		p.DownMarker():   "/home/ann/.local/share/corral/down",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEnvironmentDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		data string
		conf string
	}{
		"no HOME":        {nil, "/home/from-passwd/.local/share/corral", "/home/from-passwd/.config/corral/config.toml"},
		"XDG":            {[]string{"HOME=/h", "XDG_DATA_HOME=/xd", "XDG_CONFIG_HOME=/xc"}, "/xd/corral", "/xc/corral/config.toml"},
		"relative XDG":   {[]string{"HOME=/h", "XDG_DATA_HOME=xd"}, "/h/.local/share/corral", "/h/.config/corral/config.toml"},
		"CR over XDG":    {[]string{"HOME=/h", "XDG_DATA_HOME=/xd", "CR_DATA_DIR=/cr/d/", "CR_CONFIG=/cr/c.toml"}, "/cr/d", "/cr/c.toml"},
		"runtime dir no": {[]string{"HOME=/h", "XDG_RUNTIME_DIR=/run/user/1000"}, "/h/.local/share/corral", "/h/.config/corral/config.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := places(t, 1000, c.env...)
			if p.Data != c.data || p.Config != c.conf || p.Run != c.data+"/run" {
				t.Errorf("got data %s, config %s, run %s", p.Data, p.Config, p.Run)
			}
		})
	}
}

func TestTwoNamesOfOneDirectoryAreOneCorral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := places(t, 0, "HOME=/h", "CR_DATA_DIR="+link+"/x")
	b := places(t, 0, "HOME=/h", "CR_DATA_DIR="+dir+"/real/x")
	if a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestSocketLengths(t *testing.T) {
	t.Parallel()
	data := func(run int) string { // a data directory whose run directory has that many bytes
		return "CR_DATA_DIR=/" + strings.Repeat("d", run-len("//run"))
	}
	longest := MaxSocket - len("/recorder.sock")
	postgres := MaxPostgresSocket - len("/pg")
	for name, c := range map[string]struct {
		uid  int
		env  string
		want string // the run directory, "" for an error
	}{
		"user, fits":           {1000, data(postgres), "same"},
		"user, PostgreSQL":     {1000, data(postgres + 1), ""},
		"root, fits":           {0, data(longest), "same"},
		"root, falls back":     {0, data(longest + 1), "/run/corral-"},
		"root, asked too much": {0, "CR_RUN_DIR=/" + strings.Repeat("r", longest), ""},
		"user, asked too much": {1000, "CR_RUN_DIR=/" + strings.Repeat("r", postgres), ""},
		"user, asked":          {1000, "CR_RUN_DIR=/r", "/r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := environment(t, "HOME=/h", c.env)
			if err != nil {
				t.Fatal(err)
			}
			p, err := e.paths(c.uid)
			switch {
			case c.want == "":
				if !errors.Is(err, sessions.ErrInvalid) || !strings.Contains(err.Error(), "too long") {
					t.Errorf("got %s, %v", p.Run, err)
				}
			case err != nil:
				t.Error(err)
			case c.want == "same" && p.Run != e.DataDir+"/run", c.want != "same" && !strings.HasPrefix(p.Run, c.want):
				t.Errorf("got %s", p.Run)
			case len(p.Socket(Recorder)) > 107 || p.Postgres.RunAs == "" && len(p.Postgres.SocketDir) > 93:
				t.Errorf("%s or %s is too long", p.Socket(Recorder), p.Postgres.SocketDir)
			}
		})
	}
}

func TestRootsPostgresLivesWhereItsUserCanReachIt(t *testing.T) {
	t.Parallel()
	p := places(t, 0, "HOME=/h")
	if !strings.HasPrefix(p.Postgres.Dir, "/var/lib/corral/") || filepath.Base(p.Postgres.Dir) != "pg" ||
		p.Postgres.RunAs != "postgres" || strings.HasPrefix(p.Postgres.SocketDir, p.Run) {
		t.Errorf("%+v", p.Postgres)
	}
}

func TestPostgresPathIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{"/var/lib/corral/0123456789ab/pg\n": "/var/lib/corral/0123456789ab/pg", "pg": "", "/etc\n": ""} {
		if err := os.WriteFile(filepath.Join(dir, "postgres.path"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := environment(t, "HOME=/h", "CR_DATA_DIR="+dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.paths(0)
		if p.Postgres.Dir != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, p.Postgres.Dir, err)
		}
	}
}

func TestBadValuesAreRefusedAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, kv := range map[string]string{
		"password":           "CR_DATABASE_URL=postgres://ann:" + secret + "@db/corral",
		"password parameter": "CR_DATABASE_URL=postgres://db/corral?password=" + secret,
		"broken URL":         "CR_DATABASE_URL=postgres://ann:" + secret + "@db:port/\x01",
		"keywords":           "CR_DATABASE_URL=host=db password=" + secret,
		"lines":              "CR_REPLAY_LINES=many",
		"negative":           "CR_REPLAY_LINES=-1",
		"line break":         "CR_DATA_DIR=/a\nb",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := environment(t, "HOME=/h", kv)
			if !errors.Is(err, sessions.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q", err)
			}
		})
	}
}

func TestPasswordFileTravelsInTheURL(t *testing.T) {
	t.Parallel()
	e, err := environment(t, "HOME=/h", "CR_DATABASE_URL=postgres://ann@db/corral?sslmode=require", "PGPASSFILE=/h/pass")
	if err != nil || e.DatabaseURL != "postgres://ann@db/corral?passfile=%2Fh%2Fpass&sslmode=require" {
		t.Errorf("got %s, %v", e.DatabaseURL, err)
	}
}

func TestDaemonsInheritOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	e, err := environment(t, "HOME=/h", "PATH=/bin", "LC_ALL=C.UTF-8", "SECRET_TOKEN=x", "TMUX=/tmp/t", "CLAUDECODE=1",
		"LD_PRELOAD=/evil.so", "CR_DATA_DIR=/d", "ANTHROPIC_API_KEY=x", "SSH_AUTH_SOCK=/a", "PGPASSWORD=x")
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.paths(1000)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Environ(e)
	slices.Sort(got)
	want := []string{"CR_DATA_DIR=/d", "CR_RUN_DIR=/d/run", "HOME=/h", "LC_ALL=C.UTF-8", "PATH=/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestChildFindsTheSamePlaces(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{0, 1000} {
		e, err := environment(t, "XDG_DATA_HOME=/x", "CR_CONFIG=/c.toml", "CR_DATABASE_URL=postgres://db/x", "PGPASSFILE=/pass")
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.paths(uid)
		if err != nil {
			t.Fatal(err)
		}
		if child := places(t, uid, p.Environ(e)...); child != p {
			t.Errorf("parent %+v\nchild %+v", p, child)
		}
	}
}
