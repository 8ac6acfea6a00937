package terminal

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"

	"corral/sessions"
	"corral/vt"
)

// capabilities is what the environment says about a terminal. What only the terminal itself can say (its colours,
// synchronized output) is asked for and comes as events.
type capabilities struct {
	profile vt.Profile
	// plain is a terminal that prints, or acts on, parts of the sequences it does not know, so that only what it does know
	// may be sent: the Linux console before 5.8 prints the q of "CSI 0 SP q", and real VT terminals have no OSC.
	plain bool
	// altScreen: false where 1049 is ignored, and leaving has to clear the screen instead.
	altScreen bool
}

// check returns the sentence for people when the terminal cannot carry a dashboard.
func check(c Config) error {
	const code = sessions.CodeInvalid
	if !term.IsTerminal(c.In.Fd()) {
		return &sessions.Error{Code: code, Message: "standard input is not a terminal", Hint: "run corral in a terminal, with `ssh -t` from afar; `corral ls` works without one"}
	}
	if !term.IsTerminal(c.Out.Fd()) {
		return &sessions.Error{Code: code, Message: "standard output is not a terminal", Hint: "run corral without a pipe or redirection; `corral ls --json` is made for scripts"}
	}
	if err := c.Env.CheckTerm(); err != nil {
		return err
	}
	return c.Env.CheckLocale()
}

// CheckTerm returns the sentence for people when TERM names no terminal that can carry a dashboard.
func (e Env) CheckTerm() error {
	const code = sessions.CodeInvalid
	const hint = "set TERM to what the terminal is, as in: TERM=xterm-256color corral"
	switch t := strings.ToLower(e.Term); t {
	case "":
		return &sessions.Error{Code: code, Message: "TERM is not set, so nothing is known about this terminal", Hint: hint}
	case "dumb", "unknown", "network", "dialup", "emacs":
		return &sessions.Error{Code: code, Message: "a terminal with TERM=" + t + " cannot show a full screen", Hint: hint}
	}
	return nil
}

// CheckLocale returns the sentence for people when the locale names another character set than UTF-8.
func (e Env) CheckLocale() error {
	if _, charset, named := strings.Cut(e.Locale, "."); named && !isUTF8(charset) {
		return &sessions.Error{Code: sessions.CodeInvalid, Message: "the locale " + sessions.CleanLine(e.Locale, 60) + " is not UTF-8", Hint: "choose one that is, as in: LC_ALL=C.UTF-8 corral"}
	}
	// A locale that names no charset ("", C, en_US) says nothing about the terminal: minimal servers set none, and the
	// terminals of today are UTF-8.
	return nil
}

func isUTF8(charset string) bool {
	charset, _, _ = strings.Cut(strings.ToLower(charset), "@")
	return charset == "utf-8" || charset == "utf8"
}

// capabilitiesOf reads TERM, COLORTERM and NO_COLOR.
func capabilitiesOf(e Env) capabilities {
	name := strings.ToLower(e.Term)
	family, _, _ := strings.Cut(name, "-")
	c := capabilities{profile: profileOf(e), altScreen: true}
	switch {
	case family == "linux" || family == "con" || strings.HasPrefix(family, "vt") && family != "vte":
		c.plain, c.altScreen = true, false
	case slices.Contains([]string{"cons25", "ansi", "pcansi", "wsvt25"}, family):
		c.plain, c.altScreen = true, false
	}
	return c
}

// profileOf chooses the colours. COLORTERM is what terminals with 24-bit colours set (https://github.com/termstandard/colors);
// over SSH it often does not arrive, so the names of terminals known to have them count too.
func profileOf(e Env) vt.Profile {
	name := strings.ToLower(e.Term)
	family, rest, _ := strings.Cut(name, "-")
	switch color := strings.ToLower(e.ColorTerm); {
	case e.NoColor != "":
		return vt.NoColor
	case strings.HasPrefix(family, "vt") && family != "vte", strings.HasSuffix(name, "-mono"), strings.HasSuffix(name, "-m"):
		return vt.NoColor
	case family == "linux":
		return vt.ANSI16
	case color == "truecolor", color == "24bit", strings.Contains(name, "direct"):
		return vt.TrueColor
	case rest == "kitty", rest == "ghostty",
		slices.Contains([]string{"alacritty", "contour", "foot", "ghostty", "wezterm", "rio"}, family):
		return vt.TrueColor
	case strings.Contains(name, "256color"):
		return vt.ANSI256
	}
	return vt.ANSI16
}
