package tmux

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// hub is the session that the control clients are attached to; it holds no terminal.
const hub = "hub"

// channel is what the hooks signal and the second control client waits on.
const channel = "corral"

// nonceOption keeps the nonce of the title markers in the tmux server, where it outlives every runtime.
const nonceOption = "@corral-nonce"

// hooks are the happenings that change the inventory. window-resized is one of them because sizes are part of it.
func hooks() []string {
	return []string{"session-created", "session-closed", "pane-died", "pane-exited", "window-resized"}
}

// unbindings leave no key to tmux: every key belongs to the program. They are for the configuration file only, since
// some fail on a table that is already gone.
func unbindings() []Command {
	var list []Command
	for _, table := range []string{"prefix", "root", "copy-mode", "copy-mode-vi"} {
		list = append(list, Command{"unbind-key", "-aq", "-T", table})
	}
	return list
}

// options is the configuration, as commands that may be repeated at will: they go into the file that a new server
// reads, and again to a server that was found running, which may have been started by another version of Corral.
// Options that this tmux does not know are ignored (-q).
func options(historyLimit int) []Command {
	set := func(scope string, kv ...string) []Command {
		var list []Command
		for i := 0; i < len(kv); i += 2 {
			list = append(list, Command{"set-option", scope, kv[i], kv[i+1]})
		}
		return list
	}
	list := set("-sq",
		"exit-empty", "off",
		"escape-time", "0", // a lone ESC goes through at once
		"focus-events", "on",
		"set-clipboard", "off", // OSC 52 is taken from the pane's raw output
		"default-terminal", "tmux-256color", // with screen* tmux draws italics reversed
		"extended-keys", "on",
		"extended-keys-format", "csi-u", // 3.5: what 3.3a and 3.4 send
		// Viewers are terminals of TERM=xterm-256color: no alternate screen (it would hide their scrollback), no
		// indn (their scrollback would miss its lines), and the features that the emulator knows. Fixed indices
		// make a repetition replace, not append.
		"terminal-overrides[50]", "xterm-256color:smcup@:rmcup@:indn@",
		"terminal-features[50]", "xterm-256color:256:RGB:bpaste:ccolour:clipboard:cstyle:extkeys:focus:mouse:overline:strikethrough:sync:title:usstyle:hyperlinks",
	)
	list = append(list, set("-gq",
		"prefix", "None",
		"prefix2", "None",
		"status", "off",
		"mouse", "off", // on by default from 3.8
		"history-limit", strconv.Itoa(historyLimit),
		"remain-on-exit", "on", // an exit is told from a kill
		"remain-on-exit-format", "", // else "Pane is dead" overwrites the last line
		"destroy-unattached", "off",
		"update-environment", "", // a client's variables never enter
		"automatic-rename", "off",
		"allow-rename", "off",
		"window-size", "latest", // never manual globally: new-session then crashes the server up to 3.6b
		"bell-action", "any",
		"visual-bell", "off",
		"allow-passthrough", "off",
		"set-titles", "on",
	)...)
	for _, name := range hooks() {
		list = append(list, Command{"set-hook", "-g", name + "[50]", "wait-for -S " + channel})
	}
	return list
}

// titleMarker makes the terminal title carry the size of the history at the very moment of a redraw: tmux writes the
// title right before each full redraw of a client, and client_written changes always, so every full redraw has one.
func titleMarker(nonce string) Command {
	return Command{"set-option", "-g", "set-titles-string", nonce +
		";#{history_size};#{client_written};#{alternate_on};#{cursor_x};#{cursor_y};#{pane_width}x#{pane_height};#{pane_title}"}
}

// writeConfig writes the configuration file that a new server reads.
func writeConfig(path string, historyLimit int) error {
	var b strings.Builder
	b.WriteString("# Written by corral; read by its private tmux server when it starts.\n")
	for _, c := range append(options(historyLimit), unbindings()...) {
		text, err := line([]Command{c})
		if err != nil {
			return fmt.Errorf("write the tmux configuration: %w", err)
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write the tmux configuration: %w", err)
	}
	return nil
}
