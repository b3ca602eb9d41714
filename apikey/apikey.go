// Package apikey authenticates clients of an HTTP endpoint by keys that the operator gives to them.
// The file of keys contains only hashes, so its readers cannot use the keys.
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
	"github.com/junction-mcp/junction/state/replicas"
)

const (
	prefix       = "jk_"               // begins every key, so that scanners for secrets find keys
	maxKeys      = 10_000              // largest number of keys in a file
	maxUserName  = 200                 // largest size of a user's name in bytes
	maxPurpose   = 500                 // largest size of a purpose in bytes
	replacedTime = 30 * 24 * time.Hour // how long a rotated key stays in the list after it ended
)

// Issuer is the issuer of the principals that keys identify.
const Issuer = "junction-keys"

// ErrNoKey reports that the file does not have the key of a request.
var ErrNoKey = errors.New("the key is not known")

// ErrUnavailable reports that keys cannot be checked now, as the store of replicas is away.
var ErrUnavailable = errors.New("keys cannot be checked now")

// A Key is the stored form of a key.
type Key struct {
	ID      string    `json:"id"`   // beginning of the key; not secret
	User    string    `json:"user"` // subject of the principal
	Scopes  []string  `json:"scopes,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero means never
	Purpose string    `json:"purpose,omitempty"`
	Profile string    `json:"profile,omitempty"` // profile whose endpoint is the only one that takes the key; empty for all
	Follows string    `json:"follows,omitempty"` // ID of the key that this one replaces
	Hash    string    `json:"hash"`              // SHA-256 of the key in hexadecimal; the key has 128 random bits
}

// Keys are the keys in a file, which other processes may change. They are safe for concurrent use.
type Keys struct {
	file *listfile.File[Key]
	uses uses
}

// Open returns the keys in a file, which may not exist. It returns an error if the file cannot be
// read.
func Open(path string) (*Keys, error) {
	file, err := listfile.Open(path, "keys", func(k Key) string { return k.ID })
	return &Keys{file: file, uses: uses{open: func() (*listfile.File[use], error) { return listfile.Open(usesPath(path), "uses of keys", useName) }}}, err
}

// OpenShared returns the keys in the store of replicas. A Group that runs makes each replica refuse a
// revoked key within two seconds. If the store is away for longer than 5 minutes, no key is accepted.
func OpenShared(ctx context.Context, g *replicas.Group) (*Keys, error) {
	file, err := listfile.OpenShared(ctx, g, "apikey/keys", "keys", func(k Key) string { return k.ID })
	if err != nil {
		return nil, err
	}
	used, err := listfile.OpenShared(ctx, g, "apikey/uses", "uses of keys", useName)
	return &Keys{file: file, uses: uses{open: func() (*listfile.File[use], error) { return used, nil }}}, err
}

// Create creates a key for a user and returns it; the key itself is not stored. It expires at
// expires, or never if that is zero.
func (k *Keys) Create(ctx context.Context, user string, scopes []string, expires time.Time) (key string, kept Key, err error) {
	return k.Make(ctx, Key{User: user, Scopes: scopes, Expires: expires})
}

// Make creates a key as [Keys.Create] does. It takes the user, the scopes, the expiry, the purpose
// and the profile from like.
func (k *Keys) Make(ctx context.Context, like Key) (key string, kept Key, err error) {
	if err := like.check(); err != nil {
		return "", Key{}, err
	}
	like.Follows = ""
	key, kept = newKey(like)
	return key, kept, k.file.Change(ctx, func(keys []Key) ([]Key, error) { return added(keys, kept) })
}

// Rotate replaces a key by a new one for the same user, scopes, purpose and profile, and returns
// the new one. The old one ends after the overlap. If the old one was to expire, the new one lives
// as long as that had been given.
func (k *Keys) Rotate(ctx context.Context, id string, overlap time.Duration) (key string, kept Key, err error) {
	now := time.Now().UTC().Truncate(time.Second)
	err = k.file.Change(ctx, func(keys []Key) ([]Key, error) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoKey, id)
		}
		old := keys[i]
		if old.ended(now) {
			return nil, fmt.Errorf("the key %s expired at %s; create a new one", id, old.Expires.Format(time.RFC3339))
		}
		if next := slices.IndexFunc(keys, func(k Key) bool { return k.Follows == id }); next >= 0 {
			return nil, fmt.Errorf("the key %s was rotated already; %s replaces it", id, keys[next].ID)
		}
		like := old
		if like.Follows = id; !old.Expires.IsZero() {
			like.Expires = now.Add(old.Expires.Sub(old.Created))
		}
		key, kept = newKey(like)
		if end := now.Add(overlap); old.Expires.IsZero() || end.Before(old.Expires) {
			keys[i].Expires = end
		}
		return added(withoutReplaced(keys, now), kept)
	})
	return key, kept, err
}

// check returns an error if a key cannot be made like k.
func (k *Key) check() error {
	isOneLine := func(text string) bool {
		return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}
	switch {
	case k.User == "" || len(k.User) > maxUserName || !isOneLine(k.User):
		return fmt.Errorf("the name of a user has 1 to %d letters", maxUserName)
	case len(k.Purpose) > maxPurpose || !isOneLine(k.Purpose):
		return fmt.Errorf("the purpose of a key is one line of up to %d bytes", maxPurpose)
	}
	return nil
}

// newKey returns a new key and its stored form.
func newKey(like Key) (key string, kept Key) {
	kept = like
	kept.ID = strings.ToLower(rand.Text()[:8])
	key = prefix + kept.ID + "_" + rand.Text()
	kept.Created, kept.Expires, kept.Hash = time.Now().UTC().Truncate(time.Second), like.Expires.UTC().Truncate(time.Second), hash(key)
	return key, kept
}

func added(keys []Key, one Key) ([]Key, error) {
	if len(keys) >= maxKeys {
		return nil, fmt.Errorf("there are %d keys; revoke some first", len(keys))
	}
	return append(keys, one), nil
}

// withoutReplaced removes the rotated keys that ended long ago.
func withoutReplaced(keys []Key, now time.Time) []Key {
	replaced := map[string]bool{}
	for _, k := range keys {
		replaced[k.Follows] = true
	}
	return slices.DeleteFunc(keys, func(k Key) bool { return replaced[k.ID] && k.ended(now.Add(-replacedTime)) })
}

// ended reports whether a key had expired at a time.
func (k *Key) ended(at time.Time) bool { return !k.Expires.IsZero() && !at.Before(k.Expires) }

// Revoke removes the key with an id, or all keys of a user. It returns the removed keys.
func (k *Keys) Revoke(ctx context.Context, idOrUser string) (revoked []Key, err error) {
	err = k.file.Change(ctx, func(keys []Key) ([]Key, error) {
		revoked = nil
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

// All returns all keys, oldest first.
func (k *Keys) All() ([]Key, error) { return k.file.All() }

// Principal authenticates a request by the key in Authorization: Bearer or X-API-Key. It is for
// [streamable.Options]. For a request without a valid key, its error makes the endpoint respond
// with 401. A revoked key is refused after at most a second. A key for a
// profile is refused.
func (k *Keys) Principal(r *http.Request) (*mcp.Principal, error) { return k.PrincipalAt(r, "") }

// PrincipalAt authenticates a request to the endpoint of a profile, as [Keys.Principal] does. It
// refuses keys for another profile. The profile "" is the whole gateway.
func (k *Keys) PrincipalAt(r *http.Request, profile string) (*mcp.Principal, error) {
	key, err := k.find(givenBy(r))
	if errors.Is(err, listfile.ErrStale) {
		return nil, unavailable{err}
	}
	if err == nil && key.Profile != "" && key.Profile != profile {
		err = fmt.Errorf("the key %s is only for the profile %q: use the endpoint of that profile", key.ID, key.Profile)
	}
	if err != nil {
		return nil, streamable.Unauthorized("junction", err)
	}
	k.uses.mark(key.ID, time.Now())
	return &mcp.Principal{Subject: key.User, Issuer: Issuer, ClientID: key.ID, Scopes: key.Scopes}, nil
}

// Given reports whether a request has a text of the form of a key, which need not be known.
func Given(r *http.Request) bool { return strings.HasPrefix(givenBy(r), prefix) }

// givenBy returns what a request has in place of a key.
func givenBy(r *http.Request) string {
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.Header.Get("X-API-Key")
}

// unavailable is the error for a key that cannot be checked now. It has the reason.
type unavailable struct{ error }

// Unwrap returns [ErrUnavailable].
func (u unavailable) Unwrap() error { return ErrUnavailable }

// ServeHTTP makes the endpoint respond with 503.
func (u unavailable) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, ErrUnavailable.Error(), http.StatusServiceUnavailable)
}

// find returns the stored key for a given one. It finds the key by the id, and compares the hash in
// constant time.
func (k *Keys) find(given string) (Key, error) {
	id, _, found := strings.Cut(strings.TrimPrefix(given, prefix), "_")
	if !found || !strings.HasPrefix(given, prefix) {
		return Key{}, ErrNoKey
	}
	kept, found, err := k.file.Find(id)
	switch {
	case err != nil: // refuse, because the key may have been revoked
		return Key{}, err
	case !found || subtle.ConstantTimeCompare([]byte(kept.Hash), []byte(hash(given))) == 0:
		return Key{}, ErrNoKey
	case kept.ended(time.Now()):
		return Key{}, fmt.Errorf("the key %s expired at %s: %w", id, kept.Expires.Format(time.RFC3339), ErrNoKey)
	}
	return kept, nil
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
