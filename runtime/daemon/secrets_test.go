package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
)

// prompts are programs that ask for a password, and what they ask with.
func prompts(t *testing.T, home string) map[string][2]string {
	t.Helper()
	key := filepath.Join(home, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "another passphrase", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen is missing or fails: apt-get install openssh-client: %v: %s", err, out)
	}
	su := "su" // asks everybody but root
	if os.Getuid() == 0 {
		su = "setpriv --reuid=65534 --clear-groups su"
	}
	return map[string][2]string{
		"read":           {`bash -c 'read -s -p "Password: " x; sleep 1000'`, "Password:"},
		"getpass":        {`python3 -c 'import getpass; getpass.getpass("Password: "); input()'`, "Password:"},
		"su":             {su, "Password:"},
		"readpassphrase": {"ssh-keygen -y -f " + key, "passphrase"}, // as ssh asks
	}
}

// TestNoPromptLeaksASecret types and pastes at password prompts of every sort: the secret is nowhere in the data
// directory, its length is.
func TestNoPromptLeaksASecret(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, p := range prompts(t, b.home) {
		for i := range rounds.N(1, 2, 10) {
			id := fmt.Sprint(name, i)
			b.create(t, id, p[0])
			b.awaitScreen(t, id, p[1])
			secret := "s3cret-of-" + id
			if i%2 == 1 { // long enough to be pasted
				secret += strings.Repeat("x", 3000)
			}
			if err := b.Input(deadline(t), id, rtapi.InputRequest{Text: secret, Enter: true}); err != nil {
				t.Fatal(err)
			}
			in := b.awaitRecord(t, id, journal.Input, func(journal.Record) bool { return true })
			if !in.Redacted || in.Bytes != int64(len(secret)+1) || in.Payload != "" {
				t.Errorf("%s: recorded %+v", id, in)
			}
		}
	}
	if out, err := exec.Command("grep", "-rl", "s3cret-of-", b.data(), b.run()).CombinedOutput(); err == nil {
		t.Errorf("secrets are in %s", out)
	}
}

// TestWhatIsNoPromptIsRecorded types the same text where a program shows it, edits it, or does with it what it likes.
func TestWhatIsNoPromptIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for id, p := range map[string][2]string{
		"bash": {"exec bash --norc --noprofile -i", "bash"},
		"dash": {"PS1='ready> ' exec sh -i", "ready>"},
		"vi":   {"exec vim -u NONE -n", "~"},
		"raw":  {"stty raw -echo; printf 'agent> '; exec cat >/dev/null", "agent>"},
	} {
		b.create(t, id, p[0])
		b.awaitScreen(t, id, p[1])
		if err := b.Input(deadline(t), id, rtapi.InputRequest{Text: "iopen secret"}); err != nil {
			t.Fatal(err)
		}
		b.awaitRecord(t, id, journal.Input, func(r journal.Record) bool { return r.Payload == "iopen secret" && !r.Redacted })
	}
}
