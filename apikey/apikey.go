// Package apikey authenticates clients of an HTTP endpoint by keys that whoever runs it gives out. The file of
// keys holds hashes only, so that who reads it cannot call anything.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const (
	prefix      = "jk_"  // of all keys, so that scanners of secrets find them
	maxKeys     = 10_000 // of one file
	maxUserName = 200    // bytes of the name of who has a key
)

// Issuer is that of the principals of keys.
const Issuer = "junction-keys"

// ErrNoKey says that no key in the file is the one that a request brought.
var ErrNoKey = errors.New("the key is not known")

// A Key is what is kept of a key.
type Key struct {
	ID      string    `json:"id"`   // not secret: it begins the key
	User    string    `json:"user"` // the subject of its principal
	Scopes  []string  `json:"scopes,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // never, if zero
	Hash    string    `json:"hash"`             // SHA-256 of the key, in hexadecimal; a key is 128 random bits
}

// Keys are the keys in a file, which other processes may change. It is safe for concurrent use.
type Keys struct{ file *listfile.File[Key] }

// Open returns the keys of a file, which need not be there. The error says that it cannot be read.
func Open(path string) (*Keys, error) {
	file, err := listfile.Open(path, "keys", func(k Key) string { return k.ID })
	return &Keys{file}, err
}

// Create makes a key for a user, which is returned once and kept nowhere. It expires then, or never if that is
// zero.
func (k *Keys) Create(ctx context.Context, user string, scopes []string, expires time.Time) (key string, kept Key, err error) {
	if user == "" || len(user) > maxUserName || strings.ContainsFunc(user, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", Key{}, fmt.Errorf("the name of a user has 1 to %d letters", maxUserName)
	}
	id := strings.ToLower(rand.Text()[:8])
	key = prefix + id + "_" + rand.Text()
	kept = Key{ID: id, User: user, Scopes: scopes, Created: time.Now().UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second), Hash: hash(key)}
	return key, kept, k.file.Change(ctx, func(keys []Key) ([]Key, error) {
		if len(keys) >= maxKeys {
			return nil, fmt.Errorf("there are %d keys; revoke some first", len(keys))
		}
		return append(keys, kept), nil
	})
}

// Revoke takes keys away, by id or by user, and returns those that it took.
func (k *Keys) Revoke(ctx context.Context, idOrUser string) (revoked []Key, err error) {
	err = k.file.Change(ctx, func(keys []Key) ([]Key, error) {
		return slices.DeleteFunc(keys, func(key Key) bool {
			gone := key.ID == idOrUser || key.User == idOrUser
			if gone {
				revoked = append(revoked, key)
			}
			return gone
		}), nil
	})
	return revoked, err
}

// All returns the keys, the oldest first.
func (k *Keys) All() ([]Key, error) { return k.file.All() }

// Principal authenticates a request by its key: Authorization: Bearer, or X-API-Key. It is for
// [streamable.Options]; the error of a request without a key that holds answers 401. A key that is revoked is
// refused within a second.
func (k *Keys) Principal(r *http.Request) (*mcp.Principal, error) {
	given := r.Header.Get("X-API-Key")
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(token)
	}
	key, err := k.find(given)
	if err != nil {
		return nil, streamable.Unauthorized("junction", err)
	}
	return &mcp.Principal{Subject: key.User, Issuer: Issuer, ClientID: key.ID, Scopes: key.Scopes}, nil
}

// find returns the key that was given. Its id is looked up; what is secret is compared in constant time.
func (k *Keys) find(given string) (Key, error) {
	id, _, found := strings.Cut(strings.TrimPrefix(given, prefix), "_")
	if !found || !strings.HasPrefix(given, prefix) {
		return Key{}, ErrNoKey
	}
	kept, found, err := k.file.Find(id)
	switch {
	case err != nil: // nobody is let in by keys that may be revoked
		return Key{}, err
	case !found || subtle.ConstantTimeCompare([]byte(kept.Hash), []byte(hash(given))) == 0:
		return Key{}, ErrNoKey
	case !kept.Expires.IsZero() && !time.Now().Before(kept.Expires):
		return Key{}, fmt.Errorf("the key %s expired at %s: %w", id, kept.Expires.Format(time.RFC3339), ErrNoKey)
	}
	return kept, nil
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
