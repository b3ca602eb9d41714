// Package seal encrypts data that a client stores for the server between two rounds of a request.
// The client can neither read nor change the data.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// KeySize is the minimum size of a key in bytes.
const KeySize = 32

// version is the first byte of all sealed data. It must change when the format changes.
const version = 1

// ErrBroken is returned for data that was not sealed with a key of the ring, or that was changed
// afterwards.
var ErrBroken = errors.New("not sealed by this server, or changed since, or its key was retired")

// A Ring contains keys. It seals with the first key and opens with all of them, so keys can be
// rotated and several replicas can share them. A Ring is safe for concurrent use.
type Ring struct {
	keys []cipher.AEAD

	from  func() [][]byte // source of the keys; nil if they are constant
	mu    sync.Mutex
	given [][]byte // the bytes from which keys was made
	turns uint64   // changes of the keys
}

// NewRingFrom returns a ring that obtains its keys from a function. The ring calls the function
// each time it seals or opens. If the function returns no keys or one that is too short, the ring
// continues to use its previous keys.
func NewRingFrom(keys func() [][]byte) (*Ring, error) {
	r, err := NewRing(keys()...)
	if err != nil {
		return nil, err
	}
	r.from = keys
	return r, nil
}

// current returns the keys to use now.
func (r *Ring) current() []cipher.AEAD {
	if r.from == nil {
		return r.keys
	}
	given := r.from()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(given) == 0 || slices.EqualFunc(given, r.given, bytes.Equal) {
		return r.keys
	}
	if fresh, err := NewRing(given...); err == nil {
		r.keys, r.given = fresh.keys, given
		r.turns++
	}
	return r.keys
}

// Turns returns a number that changes with the keys.
func (r *Ring) Turns() uint64 {
	r.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turns
}

// NewRing returns a ring with the given keys. Each key must have at least [KeySize] random bytes.
// If there are no keys, NewRing generates one that exists only in this process.
func NewRing(keys ...[]byte) (*Ring, error) {
	if len(keys) == 0 {
		key := make([]byte, KeySize)
		rand.Read(key)
		keys = [][]byte{key}
	}
	r := &Ring{}
	for i, key := range keys {
		if len(key) < KeySize {
			return nil, fmt.Errorf("state key %d: expected at least %d bytes, got %d", i, KeySize, len(key))
		}
		sum := sha256.Sum256(append([]byte("junction state "), key...))
		block, err := aes.NewCipher(sum[:])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		r.keys = append(r.keys, aead)
	}
	return r, nil
}

// Seal encrypts and authenticates plain, and returns URL-safe text. The text does not contain
// context, but Open needs the same context.
func (r *Ring) Seal(plain, context []byte) string {
	aead := r.current()[0]
	out := make([]byte, 1+aead.NonceSize(), 1+aead.NonceSize()+len(plain)+aead.Overhead())
	out[0] = version
	rand.Read(out[1:])
	out = aead.Seal(out, out[1:], plain, context)
	return base64.RawURLEncoding.EncodeToString(out)
}

// Open returns the bytes that were sealed, or [ErrBroken].
func (r *Ring) Open(sealed string, context []byte) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") {
		return nil, ErrBroken // package base64 would ignore them
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(data) < 1 || data[0] != version {
		return nil, ErrBroken
	}
	keys := r.current()
	for i, aead := range keys {
		if len(data) < 1+aead.NonceSize() {
			continue
		}
		nonce, box := data[1:1+aead.NonceSize()], data[1+aead.NonceSize():]
		var dst []byte
		if i == len(keys)-1 { // no other key needs the box
			dst = box[:0]
		}
		if plain, err := aead.Open(dst, nonce, box, context); err == nil {
			return plain, nil
		}
	}
	return nil, ErrBroken
}
