package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"corral/sessions"
)

// Config is the configuration. The zero value is not useful; Default has the defaults.
type Config struct {
	History   History           `toml:"history"`
	Replay    Replay            `toml:"replay"`
	Journal   Journal           `toml:"journal"`
	Events    Events            `toml:"events"`
	Prefix    string            `toml:"prefix"` // the key that gives the keyboard back, as "ctrl+\"
	Clipboard Clipboard         `toml:"clipboard"`
	Listen    string            `toml:"listen"`    // host:port for TLS; "" listens on the unix socket only
	Autostart bool              `toml:"autostart"` // false: no role starts another one
	Agents    map[string]Agent  `toml:"agents"`
	Theme     string            `toml:"theme"` // dark, light, or auto: as the terminal's background
	Mouse     bool              `toml:"mouse"`
	Keys      map[string]string `toml:"keys"`
	Notify    Notify            `toml:"notify"`
	Log       Log               `toml:"log"`
}

// History configures what tmux keeps of each session.
type History struct {
	Lines int `toml:"lines"`
}

// Replay configures what a viewer asks for when it attaches.
type Replay struct {
	Lines int `toml:"lines"`
}

// Journal configures the record of what a session read and printed.
type Journal struct {
	Enabled       bool  `toml:"enabled"`
	Input         bool  `toml:"input"`
	RetentionDays int   `toml:"retention_days"`
	MaxTotal      Size  `toml:"max_total"`
	MinFree       Share `toml:"min_free"`
	Segment       Size  `toml:"segment"`
}

// Events configures the history of state changes.
type Events struct {
	RetentionDays int `toml:"retention_days"`
}

// Agent is a named profile: the commands that start an agent and bring its conversation back, and what it tells about
// itself. What a profile that is built in leaves out here stays as it is.
type Agent struct {
	Start      []string               `toml:"start"`
	Resume     []string               `toml:"resume"`
	Continue   []string               `toml:"continue"`
	ID         sessions.IDSource      `toml:"id"`
	Waiting    sessions.WaitingSource `toml:"waiting"`
	Transcript string                 `toml:"transcript"`
}

// Profiles returns the agents that sessions can run: those that are built in, and the configured ones.
func (c Config) Profiles() sessions.Profiles {
	configured := make(map[string]sessions.Profile, len(c.Agents))
	for name, a := range c.Agents {
		configured[name] = sessions.Profile(a)
	}
	return sessions.BuiltinProfiles().With(configured)
}

// Notify configures how the dashboard calls for attention when a session begins to wait for its user.
type Notify struct {
	Bell    bool    `toml:"bell"`    // ring the terminal's bell
	Desktop Desktop `toml:"desktop"` // and have the terminal show a notification
}

// Desktop says how the terminal is asked for a notification.
type Desktop string

// The ways to ask for one.
const (
	DesktopOff    Desktop = "off"
	DesktopOSC9   Desktop = "osc9"   // iTerm2, WezTerm, kitty, ghostty
	DesktopOSC777 Desktop = "osc777" // rxvt-unicode, foot, WezTerm, ghostty
)

// Log configures the logs of the daemons.
type Log struct {
	Level slog.Level `toml:"level"`
}

// Clipboard says what happens when a program writes to the clipboard.
type Clipboard string

// The clipboard settings.
const (
	ClipboardOff    Clipboard = "off"
	ClipboardNotify Clipboard = "notify"
	ClipboardOn     Clipboard = "on"
)

// Default returns the configuration of an absent or empty file.
func Default() Config {
	return Config{
		History:   History{Lines: 20_000},
		Replay:    Replay{Lines: 2_000},
		Journal:   Journal{Enabled: true, Input: true, RetentionDays: 7, MaxTotal: 10 << 30, MinFree: Share{Percent: 5}, Segment: 8 << 20},
		Events:    Events{RetentionDays: 90},
		Prefix:    `ctrl+\`,
		Clipboard: ClipboardNotify,
		Autostart: true,
		Theme:     "auto",
		Mouse:     true,
		Notify:    Notify{Bell: true, Desktop: DesktopOff},
		Log:       Log{Level: slog.LevelInfo},
	}
}

// Load reads the file at path over the defaults. An absent file means the defaults, unless must says that the user
// named it.
func Load(path string, must bool) (Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return Default(), nil
	}
	if err != nil {
		var pathErr *fs.PathError
		reason := err
		if errors.As(err, &pathErr) {
			reason = pathErr.Err
		}
		return Config{}, &sessions.Error{
			Code: sessions.CodeInvalid, Cause: err,
			Message: fmt.Sprintf("the configuration file %s cannot be read: %v", path, reason),
			Hint:    "mend the file, or set CR_CONFIG to another one",
		}
	}
	return parse(path, string(text))
}

func parse(path, text string) (Config, error) {
	c := Default()
	if !utf8.ValidString(text) {
		return Config{}, broken(path, 0, "it is not UTF-8", "save it as UTF-8", nil)
	}
	meta, err := toml.Decode(text, &c)
	if err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return Config{}, broken(path, syntax.Position.Line, sentence(syntax.Message), "mend that line", err)
		}
		return Config{}, broken(path, 0, sentence(err.Error()), "mend that value", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		key := unknown[0]
		hint := "remove it"
		if near := nearest(key.String()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return Config{}, broken(path, lineOf(text, key), "there is no key "+key.String(), hint, nil)
	}
	if problem := c.validate(); problem.key != "" {
		key := strings.Split(problem.key, ".")
		return Config{}, broken(path, lineOf(text, key), problem.key+" "+problem.says, "change it", nil)
	}
	return c, nil
}

// lineOf returns the line on which key appears, 0 when it cannot be told. The parser keeps no positions of keys, so
// this asks it after how many lines the key is there; it runs only when there is an error to explain.
func lineOf(text string, key []string) int {
	end := 0
	for line := 1; end < len(text); line++ {
		if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(text)
		}
		var any map[string]any
		if meta, err := toml.Decode(text[:end], &any); err == nil && meta.IsDefined(key...) {
			return line
		}
	}
	return 0
}

// sentence makes the parser's message part of one line of ours.
func sentence(message string) string {
	return sessions.CleanLine(strings.TrimPrefix(message, "toml: "), 300)
}

func broken(path string, line int, says, hint string, cause error) *sessions.Error {
	where := path
	if line > 0 {
		where = fmt.Sprintf("%s:%d", path, line)
	}
	return &sessions.Error{
		Code: sessions.CodeInvalid, Cause: cause,
		Message: fmt.Sprintf("%s: %s", where, says), Hint: hint,
		Details: map[string]any{"file": path, "line": line},
	}
}
