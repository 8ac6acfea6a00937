package launch

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const fallbackShell = "/bin/sh"

// loginShell returns the user's shell: $SHELL, else the one of the password file, else /bin/sh. One that refuses to be
// used, as system accounts have, is passed over.
func loginShell(env []string) string {
	if sh := value(env, "SHELL"); usable(sh) {
		return sh
	}
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return fallbackShell
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if sh := passwdShell(f, os.Getuid()); usable(sh) {
		return sh
	}
	return fallbackShell
}

// passwdShell finds the shell of a user in passwd(5) form; the package os/user does not tell it.
func passwdShell(r io.Reader, uid int) string {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Split(lines.Text(), ":")
		if len(f) == 7 && f[2] == strconv.Itoa(uid) {
			return f[6]
		}
	}
	return ""
}

func usable(shell string) bool {
	switch filepath.Base(shell) {
	case "nologin", "false", "true":
		return false
	}
	if !filepath.IsAbs(shell) {
		return false
	}
	info, err := os.Stat(shell)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
