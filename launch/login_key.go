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
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
	"github.com/zalando/go-keyring"
)

const (
	keyringService = "junction"
	inKeyring      = "keyring" // what the key's file says when the key is in the keyring
	// keyringTime is how long the keyring may take; its owner may have to unlock it.
	keyringTime = 30 * time.Second
)

// loginKey is the key that seals logins. It is in the keyring of the user's system, where there is one, or else in a
// file that only the user can read; that file says which. Unless it is to be made, [state.ErrNotFound] says that
// there is none.
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
		return key, err // somebody else made it meanwhile
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
			return nil, fmt.Errorf("the key of your logins is in the keyring of this system, which says: %w; unlock it, or remove %s and log in again", err, path)
		}
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) < seal.KeySize {
		return nil, fmt.Errorf("%s holds no key; remove it, and log in again", path)
	}
	return key, nil
}

// keepInKeyring reports whether the keyring has the key now.
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

// askKeyring runs ask, which cannot be interrupted, as long as it may take.
func askKeyring(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // ends with the keyring's service, or this process
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

// hasKeyring reports whether this system has a keyring that can be asked without starting one.
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
