package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const (
	prefix      = "jk_"       // of all keys, so that scanners of secrets find them
	maxKeys     = 10_000      // of one file
	maxFile     = 8 << 20     // its bytes
	maxUserName = 200         // bytes of the name of who has a key
	lookPause   = time.Second // between two looks whether the file changed
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
type Keys struct {
	path string

	mu     sync.Mutex
	keys   []Key
	byID   map[string]int // where each is in keys; the first, of several
	looked time.Time
	stamp  string // of the file that was read
}

// Open returns the keys of a file, which need not be there. The error says that it cannot be read.
func Open(path string) (*Keys, error) {
	k := &Keys{path: path}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k, k.read()
}

// read reads the file if it changed; the lock is held.
func (k *Keys) read() error {
	k.looked = time.Now()
	info, err := os.Stat(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		k.keys, k.byID, k.stamp = nil, nil, ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	stamp := fmt.Sprint(info.ModTime().UnixNano(), info.Size())
	if stamp == k.stamp {
		return nil
	}
	keys, err := load(k.path)
	if err != nil {
		return err
	}
	byID := make(map[string]int, len(keys))
	for i, key := range slices.Backward(keys) {
		byID[key.ID] = i
	}
	k.keys, k.byID, k.stamp = keys, byID, stamp
	return nil
}

func load(path string) (keys []Key, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read keys: %s is larger than %d MiB", path, maxFile>>20)
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("read keys: %s: %w", path, err)
	}
	return keys, nil
}

// change changes the file, in which other processes may change something else.
func (k *Keys) change(ctx context.Context, f func([]Key) ([]Key, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	unlock, err := filelock.Wait(ctx, k.path+".lock")
	if err != nil {
		return fmt.Errorf("lock keys: %w", err)
	}
	defer unlock()
	k.stamp = ""
	if err := k.read(); err != nil {
		return err
	}
	keys, err := f(slices.Clone(k.keys))
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	if err := filelock.Replace(k.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	k.stamp = ""
	return k.read()
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
	return key, kept, k.change(ctx, func(keys []Key) ([]Key, error) {
		if len(keys) >= maxKeys {
			return nil, fmt.Errorf("there are %d keys; revoke some first", len(keys))
		}
		return append(keys, kept), nil
	})
}

// Revoke takes keys away, by id or by user, and returns those that it took.
func (k *Keys) Revoke(ctx context.Context, idOrUser string) (revoked []Key, err error) {
	err = k.change(ctx, func(keys []Key) ([]Key, error) {
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
func (k *Keys) All() ([]Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.read()
	return slices.Clone(k.keys), err
}

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
	return &mcp.Principal{Subject: key.User, Issuer: Issuer, Scopes: key.Scopes}, nil
}

// find returns the key that was given. Its id is looked up; what is secret is compared in constant time.
func (k *Keys) find(given string) (Key, error) {
	id, _, found := strings.Cut(strings.TrimPrefix(given, prefix), "_")
	if !found || !strings.HasPrefix(given, prefix) {
		return Key{}, ErrNoKey
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) >= lookPause {
		if err := k.read(); err != nil { // nobody is let in by keys that may be revoked
			return Key{}, err
		}
	}
	i, found := k.byID[id]
	if !found || subtle.ConstantTimeCompare([]byte(k.keys[i].Hash), []byte(hash(given))) == 0 {
		return Key{}, ErrNoKey
	}
	if expires := k.keys[i].Expires; !expires.IsZero() && !time.Now().Before(expires) {
		return Key{}, fmt.Errorf("the key %s expired at %s: %w", id, expires.Format(time.RFC3339), ErrNoKey)
	}
	return k.keys[i], nil
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
