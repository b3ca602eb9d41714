package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
)

const (
	// leaseTime is how long other processes wait if a process dies while it obtains a token.
	leaseTime = 10 * time.Second
	// maxLogins is the maximum number of logins in a list.
	maxLogins = 1_000
)

// ErrKey reports that the stored data were sealed with another key.
var ErrKey = errors.New("the stored logins cannot be read with this key")

// A Store stores sealed logins by authorization server and resource, and registrations of clients.
// Clients in several processes may share it. Only one of them at a time obtains a token. A Store is
// safe for concurrent use.
type Store struct {
	open func(ctx context.Context) (state.Store, []byte, error)

	turn chan struct{}           // capacity 1; contains a value while the store is opened
	in   atomic.Pointer[sealing] // nil until the store is opened
}

// A sealing is an open store with the key for its values.
type sealing struct {
	state.Store
	ring *seal.Ring
}

// OpenStore returns a Store that uses the [state.Store] that open returns. The function open also
// returns the key that seals the values, of at least 32 random bytes. A nil key means a key that
// exists only in this process. The store is opened when it is first used. If open fails with
// [state.ErrNotFound], nothing is stored yet. After any other error, open is called again later.
func OpenStore(open func(ctx context.Context) (s state.Store, key []byte, err error)) *Store {
	return &Store{open: open, turn: make(chan struct{}, 1)}
}

// opened returns the open store.
func (s *Store) opened(ctx context.Context) (*sealing, error) {
	if in := s.in.Load(); in != nil {
		return in, nil
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if in := s.in.Load(); in != nil {
		return in, nil
	}
	in, key, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	if key != nil {
		keys = append(keys, key)
	}
	ring, err := seal.NewRing(keys...)
	if err != nil {
		return nil, err
	}
	s.in.Store(&sealing{in, ring})
	return s.in.Load(), nil
}

// The prefixes of keys. The names are hashed, as they can be long and are private.
const (
	ofServers = "oauth/server/" // of a server: the key of its login
	ofLogins  = "oauth/login/"  // of an issuer and a resource: the login
	ofClients = "oauth/client/" // of an issuer: the client's registration
)

func keyOf(kind string, names ...string) string {
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%d:%s", len(name), name)
	}
	return kind + hex.EncodeToString(h.Sum(nil))
}

func (l *login) key() string { return keyOf(ofLogins, l.Issuer.Issuer, l.Resource) }

// while runs do for a login. Only one process at a time does so for the same login.
func (s *Store) while(ctx context.Context, l *login, do func(ctx context.Context, hold state.Hold) error) error {
	in, err := s.opened(ctx)
	if err != nil {
		return err
	}
	return state.While(ctx, in, l.key(), leaseTime, do)
}

// get decodes the value of a key. It reports false in found if the store has no such key.
func (s *Store) get(ctx context.Context, key string, into any) (version state.Version, found bool, err error) {
	in, err := s.opened(ctx)
	if err == nil {
		var e state.Entry
		if e, err = in.Get(ctx, key); err == nil {
			return e.Version, true, in.unsealed(e, into)
		}
	}
	if errors.Is(err, state.ErrNotFound) {
		return "", false, nil
	}
	return "", false, err
}

func (s *sealing) unsealed(e state.Entry, into any) error {
	plain, err := s.ring.Open(string(e.Value), []byte(e.Key))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKey, err)
	}
	return json.Unmarshal(plain, into)
}

func (s *Store) put(ctx context.Context, key string, value any, w state.Write) error {
	in, err := s.opened(ctx)
	if err != nil {
		return err
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = in.Put(ctx, key, []byte(in.ring.Seal(plain, []byte(key))), w)
	return err
}

func (s *Store) remove(ctx context.Context, key string, hold state.Hold) error {
	in, err := s.opened(ctx)
	if err != nil {
		return err
	}
	return in.Delete(ctx, key, hold)
}

// ofServer returns the login that a server uses, or nil.
func (s *Store) ofServer(ctx context.Context, server string) (*login, error) {
	var key string
	if _, found, err := s.get(ctx, keyOf(ofServers, server), &key); err != nil || !found {
		return nil, err
	}
	return s.byKey(ctx, key)
}

// login returns the stored version of a login, or nil.
func (s *Store) login(ctx context.Context, l *login) (*login, error) { return s.byKey(ctx, l.key()) }

func (s *Store) byKey(ctx context.Context, key string) (*login, error) {
	var l login
	if _, found, err := s.get(ctx, key, &l); err != nil || !found {
		return nil, err
	}
	return &l, nil
}

// save stores a login, which the server then uses.
func (s *Store) save(ctx context.Context, server string, l *login, hold state.Hold) error {
	if err := s.put(ctx, l.key(), l, state.Write{Hold: hold}); err != nil {
		return err
	}
	return s.put(ctx, keyOf(ofServers, server), l.key(), state.Write{})
}

// forget removes a login.
func (s *Store) forget(ctx context.Context, l *login, hold state.Hold) error {
	return s.remove(ctx, l.key(), hold)
}

// logins returns all logins.
func (s *Store) logins(ctx context.Context) (all []*login, err error) {
	in, err := s.opened(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := in.List(ctx, ofLogins, "", maxLogins)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var l login
		if err := in.unsealed(e, &l); err != nil {
			return nil, err
		}
		all = append(all, &l)
	}
	return all, nil
}

// client returns the client's stored registration with an authorization server.
func (s *Store) client(ctx context.Context, issuer string) (r Registration, found bool, err error) {
	_, found, err = s.get(ctx, keyOf(ofClients, issuer), &r)
	return r, found, err
}

func (s *Store) saveClient(ctx context.Context, issuer string, r *Registration) error {
	return s.put(ctx, keyOf(ofClients, issuer), r, state.Write{})
}
