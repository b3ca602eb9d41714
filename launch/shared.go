package launch

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// sharedKey is the key of the store's secret key, which is sealed with the state keys. So a change of
// the state keys seals one value again, and no login ends.
const sharedKey = "launch/key"

// errOtherKeys means that the secret key of a store was sealed with another state key.
var errOtherKeys = errors.New("the secrets in the shared state were sealed with a state key that stateKeys does not have; add the earlier key after the present ones")

// UseShared makes the logins of users, which OpenLogins opens, those of the store of a group of
// replicas. keys are its state keys. The first one seals, and all open.
func (l *Launcher) UseShared(ctx context.Context, g *replicas.Group, keys [][]byte) error {
	key, err := SealShared(ctx, g, keys)
	if err == nil {
		l.shared, l.sharedKey = g, key
	}
	return err
}

// Shared returns the group of UseShared, or nil.
func (l *Launcher) Shared() *replicas.Group { return l.shared }

// SharedSecret returns a secret that all replicas derive from the key of the store for a purpose. It
// returns nil without a store.
func (l *Launcher) SharedSecret(purpose string) []byte {
	if l.shared == nil {
		return nil
	}
	return derived(l.sharedKey, "junction shared state: "+purpose)
}

func derived(key []byte, label string) []byte {
	secret, err := hkdf.Key(sha256.New, key, nil, label, seal.KeySize)
	if err != nil {
		panic(err) // the size is valid for SHA-256
	}
	return secret
}

// SealShared returns the secret key of a store. It makes a missing one, and seals it with the first
// state key if another one sealed it.
func SealShared(ctx context.Context, store state.KV, keys [][]byte) ([]byte, error) {
	var derivedKeys [][]byte
	for _, key := range keys {
		derivedKeys = append(derivedKeys, derived(key, "junction state key: "+sharedKey))
	}
	all, err := seal.NewRing(derivedKeys...)
	if err != nil {
		return nil, err
	}
	first, err := seal.NewRing(derivedKeys[0])
	if err != nil {
		return nil, err
	}
	for {
		e, err := store.Get(ctx, sharedKey)
		key := make([]byte, seal.KeySize)
		switch {
		case errors.Is(err, state.ErrNotFound):
			rand.Read(key)
		case err != nil:
			return nil, fmt.Errorf("the shared state: %w", err)
		default:
			if key, err = first.Open(string(e.Value), []byte(sharedKey)); err == nil {
				return key, nil
			}
			if key, err = all.Open(string(e.Value), []byte(sharedKey)); err != nil {
				return nil, errOtherKeys
			}
		}
		_, err = store.CompareAndSwap(ctx, sharedKey, e.Version, []byte(first.Seal(key, []byte(sharedKey))), state.Write{})
		if err == nil {
			return key, nil
		}
		if !errors.Is(err, state.ErrConflict) {
			return nil, fmt.Errorf("the shared state: %w", err)
		}
	}
}
