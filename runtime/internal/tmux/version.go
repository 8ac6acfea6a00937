package tmux

import (
	"fmt"
	"strings"
)

// version is a tmux version as far as it orders: 3.3a is {3, 3, 'a'}. Builds without a number (master, openbsd-7.5)
// are newer than any.
type version struct {
	major, minor int
	letter       byte // 0 without one
}

// The versions at which Corral's ways part.
var (
	oldest    = version{3, 3, 'a'} // the oldest supported: Debian 12's
	reapsSelf = version{3, 6, 0}   // no longer loses SIGCHLD to utempter (tmux issue 4559)
)

// parseVersion reads what tmux -V or #{version} says: "tmux 3.3a", "3.6b", "next-3.8", "openbsd-7.5", "master".
func parseVersion(text string) version {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "tmux "))
	text = strings.TrimPrefix(text, "next-")
	var v version
	n, err := fmt.Sscanf(text, "%d.%d%c", &v.major, &v.minor, &v.letter)
	if n < 2 {
		return version{major: 1 << 20}
	}
	if err == nil && (v.letter < 'a' || v.letter > 'z') {
		v.letter = 0 // "3.4-rc": as the release
	}
	return v
}

func (v version) before(w version) bool {
	if v.major != w.major {
		return v.major < w.major
	}
	if v.minor != w.minor {
		return v.minor < w.minor
	}
	return v.letter < w.letter
}
