package authserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/state"
)

const (
	keyTime     = 30 * 24 * time.Hour // age of the signing key when a new one replaces it
	oldKeyTime  = 24 * time.Hour      // how long the previous key is published
	keyReadTime = time.Minute         // how long the keys of other processes are cached
	keyPause    = time.Second         // time between two reads because of an unknown key
)

const keysName = "authserver/keys"

// A signingKey signs tokens.
type signingKey struct {
	ID   string    `json:"id"`
	DER  []byte    `json:"der"` // PKCS #8
	Made time.Time `json:"made"`

	key *ecdsa.PrivateKey
}

// keys caches the keys of all processes that share the store. The zero value is empty.
type keys struct {
	mu     sync.Mutex
	all    []*signingKey // newest first
	read   time.Time
	looked time.Time // time of the last read because of an unknown key
}

// signing returns the keys; the first one signs tokens. It replaces a key that is too old.
func (s *Server) signing(ctx context.Context) ([]*signingKey, error) {
	s.keys.mu.Lock()
	all, read := s.keys.all, s.keys.read
	s.keys.mu.Unlock()
	now := time.Now()
	if len(all) > 0 && now.Sub(read) < keyReadTime && now.Sub(all[0].Made) < keyTime {
		return all, nil
	}
	all, err := s.readKeys(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("the signing keys of tokens: %w", err)
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	s.keys.all, s.keys.read = all, now
	return all, nil
}

// verifying returns the key with an ID, or nil. For an unknown ID it reads the keys again, because
// another process may have added one. It does so at most once a second for all requests, because
// anyone can send tokens with unknown keys. While the store of replicas is away, it returns the keys
// that were read before.
func (s *Server) verifying(ctx context.Context, id string) (*signingKey, error) {
	for {
		all, err := s.signing(ctx)
		if err != nil && isAway(err) && s.options.Replicas != nil {
			s.keys.mu.Lock()
			all = s.keys.all
			s.keys.mu.Unlock()
		}
		if i := slices.IndexFunc(all, func(k *signingKey) bool { return k.ID == id }); i >= 0 {
			return all[i], nil
		}
		if err != nil {
			return nil, err
		}
		now := time.Now()
		s.keys.mu.Lock()
		isEarly := now.Sub(s.keys.looked) < keyPause
		if !isEarly {
			s.keys.looked, s.keys.read = now, time.Time{}
		}
		s.keys.mu.Unlock()
		if isEarly {
			return nil, nil
		}
	}
}

// readKeys reads the keys from the store, and adds one if the newest is too old. If several
// processes add a key, the first succeeds and the others use its key.
func (s *Server) readKeys(ctx context.Context, now time.Time) ([]*signingKey, error) {
	for {
		e, err := s.options.Store.Get(ctx, keysName)
		var all []*signingKey
		if err == nil {
			all, err = s.openKeys(string(e.Value))
		}
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return nil, err
		}
		if len(all) > 0 && now.Sub(all[0].Made) < keyTime {
			return all, nil
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(k *signingKey) bool { return now.Sub(k.Made) > keyTime+oldKeyTime })
		all = append([]*signingKey{{ID: rand.Text()[:16], DER: der, Made: now, key: key}}, all...)
		sealed, err := s.seal(all, keysName)
		if err != nil {
			return nil, err
		}
		_, err = s.options.Store.CompareAndSwap(ctx, keysName, e.Version, []byte(sealed), state.Write{})
		if err == nil {
			return all, nil
		}
		if !errors.Is(err, state.ErrConflict) {
			return nil, err
		}
	}
}

func (s *Server) openKeys(sealed string) (all []*signingKey, err error) {
	if err := s.open(sealed, keysName, &all); err != nil {
		return nil, err
	}
	for _, k := range all {
		key, err := x509.ParsePKCS8PrivateKey(k.DER)
		if err != nil {
			return nil, err
		}
		var is bool
		if k.key, is = key.(*ecdsa.PrivateKey); !is {
			return nil, fmt.Errorf("the key %s is of another kind", k.ID)
		}
	}
	return all, nil
}

// public returns the public keys as a JSON Web Key Set.
func public(all []*signingKey) (set jose.JSONWebKeySet) {
	for _, k := range all {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: &k.key.PublicKey, KeyID: k.ID, Algorithm: string(jose.ES256), Use: "sig"})
	}
	return set
}
