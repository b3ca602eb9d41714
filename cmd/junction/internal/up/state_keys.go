package up

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
)

const (
	stateKeyTime   = 7 * 24 * time.Hour // how long a key seals the state that clients carry between rounds
	stateKeyPause  = time.Minute        // time between two checks for keys of other processes
	stateKeyBefore = 10 * time.Minute   // how long a key is stored before it seals
	stateKeyAfter  = 24 * time.Hour     // how long a key can still open after the next key seals
	maxStateKeys   = 16 << 10           // largest size of the file in bytes
)

// A stateKey seals from Since until the next key does.
type stateKey struct {
	Key   []byte    `json:"key"`
	Since time.Time `json:"since"`
}

// StateKeys holds the keys that seal the state that clients carry between rounds. All processes
// with the same state folder share them. A new key is stored some time before its first use, so
// that every process knows it by then. At is safe for concurrent use.
type StateKeys struct {
	Path string

	mu     sync.Mutex
	looked time.Time
	Keys   []stateKey // sorted by Since
}

// ReplicaOptions is like [ServeOptions], for a process that can replace others with the same state
// folder. If the shared keys cannot be opened, the process uses its own.
func ReplicaOptions(ctx context.Context, a *cli.App) mcp.ServeOptions {
	o := ServeOptions(a)
	keys, err := cli.OpenState(a.Place, "state.keys", func(path string) (*StateKeys, error) {
		k := &StateKeys{Path: path}
		return k, k.Look(ctx, time.Now())
	})
	if err != nil {
		a.Logger().Debug("junction: other processes cannot take the next round of a request", "error", err)
		return o
	}
	o.StateKeysFrom = func() [][]byte { return keys.At(ctx, time.Now()) }
	return o
}

// At returns the keys to use at a time. The first one seals.
func (k *StateKeys) At(ctx context.Context, now time.Time) [][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.looked) >= stateKeyPause {
		_ = k.Look(ctx, now) // after an error, the known keys stay
	}
	var due, next [][]byte
	for _, key := range slices.Backward(k.Keys) {
		if key.Since.After(now) {
			next = append(next, key.Key)
		} else {
			due = append(due, key.Key)
		}
	}
	return append(due, next...)
}

// Look reads the file and adds the next key if it is due. The caller must hold the lock or have the
// only reference.
func (k *StateKeys) Look(ctx context.Context, now time.Time) error {
	k.looked = now
	keys, err := readStateKeys(k.Path)
	if err != nil {
		return err
	}
	if _, turn := rotateKeys(keys, now); !turn {
		k.Keys = keys
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reach.CheckTimeout)
	defer cancel()
	unlock, err := filelock.Wait(ctx, k.Path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if keys, err = readStateKeys(k.Path); err != nil {
		return err
	}
	keys, turn := rotateKeys(keys, now)
	if turn {
		text, err := json.Marshal(keys)
		if err != nil {
			return err
		}
		if err := filelock.Replace(k.Path, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	k.Keys = keys
	return nil
}

// rotateKeys returns keys without the ones that no longer open anything. If the next key is due,
// rotateKeys adds it and reports true.
func rotateKeys(keys []stateKey, now time.Time) (_ []stateKey, turn bool) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k stateKey) bool { return k.Since.After(now.Add(stateKeyTime)) }) // made while the clock was ahead
	n := len(keys)
	since := now
	switch {
	case n > 0 && now.Before(keys[n-1].Since.Add(stateKeyTime-stateKeyBefore)):
		return keys, false
	case n > 0:
		since = now.Add(stateKeyBefore)
	}
	for len(keys) > 1 && now.After(keys[1].Since.Add(stateKeyAfter)) {
		keys = keys[1:]
	}
	key := make([]byte, seal.KeySize)
	rand.Read(key)
	return append(slices.Clip(keys), stateKey{Key: key, Since: since.UTC()}), true
}

// readStateKeys reads the keys in a file, sorted by Since. It returns none if the file does not
// exist.
func readStateKeys(path string) (keys []stateKey, err error) {
	text, err := filename.ReadAtMost(path, maxStateKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and junction makes a new one", path, err)
	}
	if slices.ContainsFunc(keys, func(k stateKey) bool { return len(k.Key) < seal.KeySize }) {
		return nil, fmt.Errorf("%s: a key has fewer than %d bytes; remove it, and junction makes a new one", path, seal.KeySize)
	}
	slices.SortFunc(keys, func(a, b stateKey) int { return a.Since.Compare(b.Since) })
	return keys, nil
}
