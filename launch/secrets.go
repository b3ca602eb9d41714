package launch

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
	"github.com/zalando/go-keyring"
)

const (
	MaxSecret  = 64 << 10  // largest size of a secret in bytes
	SecretKeys = "secret/" // prefix of the keys of secrets in the store
)

// keptSecrets holds the user's store of secrets once it is open.
type keptSecrets struct {
	mu    sync.Mutex
	store state.Store // nil until its first use
	ring  *seal.Ring
}

// OpenSecrets returns the user's store of secrets, which it opens at the first call. If the store
// does not exist, OpenSecrets creates it if create is set; otherwise the error is
// [state.ErrNotFound].
func (l *Launcher) OpenSecrets(ctx context.Context, create bool) (state.Store, *seal.Ring, error) {
	s := &l.secrets
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, s.ring, nil
	}
	store, key, err := l.openOwn(create)(ctx)
	if err != nil {
		return nil, nil, err
	}
	ring, err := seal.NewRing(key)
	if err != nil {
		return nil, nil, err
	}
	s.store, s.ring = store, ring
	return store, ring, nil
}

// Secret returns one of the user's secrets for a configuration. It also removes the secret from the
// recording.
func (l *Launcher) Secret(ctx context.Context, name string) (string, error) {
	store, ring, err := l.OpenSecrets(ctx, false)
	var kept state.Entry
	if err == nil {
		kept, err = store.Get(ctx, SecretKeys+name)
	}
	if errors.Is(err, state.ErrNotFound) || err == nil && CheckSecretName(name) != nil {
		return "", fmt.Errorf("it does not exist; to keep it: junction secret set %s", plaintext.ShellWord(name))
	}
	if err != nil {
		return "", err
	}
	value, err := ring.Open(string(kept.Value), []byte(SecretKeys+name))
	if err != nil {
		return "", fmt.Errorf("it cannot be decrypted with the present key; to keep it again: junction secret set %s", plaintext.ShellWord(name))
	}
	l.Hide(string(value))
	return string(value), nil
}

// secretName matches the names of secrets.
var secretName = lazy.Regexp(`^[a-zA-Z0-9_.-]{1,100}$`)

// CheckSecretName returns a usage error if name is not a valid name of a secret.
func CheckSecretName(name string) error {
	if !secretName().MatchString(name) {
		return commandline.Errorf("expected a name of up to 100 letters, digits, _, . and -, got %q", name)
	}
	return nil
}

const (
	keyringService = "junction"
	inKeyring      = "keyring" // content of the key's file if the keyring has the key
	// keyringTime limits a request to the keyring, which its owner may have to unlock first.
	keyringTime = 30 * time.Second
)

// loginKey returns the key that seals logins. The key is in the keyring of the user's system, or
// else in a file that only the user can read. In the first case the file has inKeyring in place of
// the key. If the key is missing and create is false, the error is [state.ErrNotFound].
func loginKey(ctx context.Context, p place.Place, create bool) ([]byte, error) {
	path, err := p.State("logins.key")
	if err != nil {
		return nil, err
	}
	key, err := readLoginKey(ctx, path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if !create {
		return nil, state.ErrNotFound
	}
	unlock, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if key, err = readLoginKey(ctx, path); !errors.Is(err, fs.ErrNotExist) {
		return key, err // another process made the key in the meantime
	}
	key = make([]byte, seal.KeySize)
	rand.Read(key)
	text := hex.EncodeToString(key)
	if keepInKeyring(ctx, p, path, text) {
		text = inKeyring
	}
	return key, filelock.Replace(path, []byte(text+"\n"), 0o600)
}

func readLoginKey(ctx context.Context, path string) ([]byte, error) {
	data, err := filename.ReadAtMost(path, MaxKeyFile)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	if text == inKeyring {
		if text, err = askKeyring(ctx, func() (string, error) { return keyring.Get(keyringService, path) }); err != nil {
			return nil, fmt.Errorf("the key of your logins is in the keyring of this system, which cannot be read: %w; unlock it, or remove %s and log in again", err, path)
		}
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) < seal.KeySize {
		return nil, fmt.Errorf("%s contains no key; remove the file, and log in again", path)
	}
	return key, nil
}

// keepInKeyring stores the key in the keyring and reports whether it succeeded.
func keepInKeyring(ctx context.Context, p place.Place, path, text string) bool {
	if !hasKeyring(p) {
		return false
	}
	kept, err := askKeyring(ctx, func() (string, error) {
		if err := keyring.Set(keyringService, path, text); err != nil {
			return "", err
		}
		return keyring.Get(keyringService, path)
	})
	return err == nil && bytes.Equal([]byte(kept), []byte(text))
}

// askKeyring runs ask, which cannot be interrupted, and waits at most keyringTime for it.
func askKeyring(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // ends when the keyring's service responds, or with this process
		text, err := ask()
		answered <- answer{text, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, keyringTime, fmt.Errorf("it did not answer within %v", keyringTime))
	defer cancel()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// hasKeyring reports whether this system has a running keyring.
func hasKeyring(p place.Place) bool {
	switch {
	case p.Getenv("JUNCTION_KEYRING") == "off":
		return false
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		return true
	case p.Getenv("DBUS_SESSION_BUS_ADDRESS") != "":
		return true
	}
	folder := p.Getenv("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(folder, "bus"))
	return folder != "" && err == nil
}
