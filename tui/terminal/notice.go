package terminal

import (
	"strings"
	"unicode"
)

// Notice is a call for the user's attention.
type Notice struct {
	Bell bool   // ring the bell: BEL, which tmux and every terminal know
	OSC  OSC    // and show a notification
	Text string // in one line
}

// OSC says by which sequence a terminal is asked to show a notification; others ignore it.
type OSC string

// The sequences.
const (
	NoOSC  OSC = ""
	OSC9   OSC = "osc9"   // iTerm2's: ESC ] 9 ; text ST; also WezTerm, kitty, ghostty
	OSC777 OSC = "osc777" // rxvt-unicode's: ESC ] 777 ; notify ; title ; text ST; also ghostty, foot, WezTerm
)

// maxNotice bounds the text of a notification in runes; terminals cut it anyway.
const maxNotice = 200

// Notify calls for the user's attention.
func (t *Terminal) Notify(n Notice) {
	if b := n.bytes(); t.painter != nil && t.held.Load() && !t.bare && len(b) > 0 {
		t.painter.send(b)
	}
}

func (n Notice) bytes() []byte {
	var b []byte
	if n.Bell {
		b = append(b, '\a')
	}
	text := noticeText(n.Text)
	switch n.OSC {
	case OSC9:
		b = append(b, "\x1b]9;"+text+"\x1b\\"...)
	case OSC777:
		b = append(b, "\x1b]777;notify;Corral;"+strings.ReplaceAll(text, ";", ",")+"\x1b\\"...)
	case NoOSC:
	}
	return b
}

// noticeText leaves nothing in a text that could end or change the sequence around it. A number followed by a semicolon
// at its begin would be a command of ConEmu's, which share the number 9.
func noticeText(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxNotice {
			break
		}
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			r = ' '
		}
		b.WriteRune(r)
	}
	out := b.String()
	if out != "" && out[0] >= '0' && out[0] <= '9' {
		out = " " + out
	}
	return out
}
