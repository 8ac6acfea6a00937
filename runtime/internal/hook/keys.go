package hook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// keySize is the size of the secret that tokens are made with, in bytes.
const keySize = 32

// key makes and checks the tokens of sessions: a session's id and run, and an HMAC of both. Nothing is kept of a token.
type key []byte

// loadKey reads the token file; nil when there is none, or none that could be one.
func loadKey(path string) (key, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the hooks' token file: %w", err)
	}
	k, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(k) != keySize {
		return nil, nil
	}
	return k, nil
}

// newKey replaces the token file.
func newKey(path string) (key, error) {
	k := make(key, keySize)
	_, _ = rand.Read(k) // it never fails
	next := path + ".new"
	_ = os.Remove(next) // left by a runtime that was killed here
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the hooks' token file: %w", err)
	}
	_, err = f.WriteString(hex.EncodeToString(k) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("write the hooks' token file: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return nil, fmt.Errorf("write the hooks' token file: %w", err)
	}
	return k, nil
}

func (k key) token(id string, run int) string {
	name := id + "." + strconv.Itoa(run)
	return name + "." + base64.RawURLEncoding.EncodeToString(k.sum(name))
}

// session returns whose token it is.
func (k key) session(token string) (id string, run int, ok bool) {
	if k == nil {
		return "", 0, false
	}
	end := strings.LastIndexByte(token, '.')
	if end < 0 {
		return "", 0, false
	}
	name := token[:end]
	sum, err := base64.RawURLEncoding.DecodeString(token[end+1:])
	if err != nil || !hmac.Equal(sum, k.sum(name)) {
		return "", 0, false
	}
	id, number, ok := strings.Cut(name, ".")
	run, err = strconv.Atoi(number)
	return id, run, ok && err == nil
}

func (k key) sum(name string) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte("corral hook " + name))
	return mac.Sum(nil)
}
