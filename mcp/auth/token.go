package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/oauthdoc"
)

const (
	// skew is how far the clocks of this machine and of an authorization server may be apart.
	skew = jws.Skew
	// maxCached bounds the tokens that a Guard remembers to have checked.
	maxCached = 10_000
	// maxRemembered is for how long it remembers one that does not say when it expires.
	maxRemembered = time.Minute
)

var (
	// ErrToken says that a token does not hold, or not here.
	ErrToken = errors.New("the access token does not hold")
	// ErrInactive says that who gave a token, or would have, says that it holds nowhere: it was revoked, if it ever held. It
	// wraps [ErrToken]. What was got with the token can end.
	ErrInactive = fmt.Errorf("%w: it is not active", ErrToken)
	// ErrUnavailable says that a token cannot be checked now; the request is answered with 503.
	ErrUnavailable = errors.New("access tokens cannot be checked now")
)

// A Verifier checks the token of a request to a resource, and returns what it says. The error wraps [ErrToken] where
// it does not hold, [ErrInactive] where it holds nowhere, or [ErrUnavailable] where that cannot be found out. It is safe for
// concurrent use.
type Verifier interface {
	Verify(ctx context.Context, token, resource string) (*Token, error)
}

// A Token is what an access token that holds says.
type Token struct {
	Issuer      string // the authorization server
	Subject     string // who it is for; for a client that acts for itself, the client
	ClientID    string
	Audience    []string // the resources that it is for
	Scopes      []string
	Expires     time.Time // zero: not said
	Fresh       time.Time // until when it need not be checked again; zero: until it expires
	Thumbprint  string    // of the key that it is bound to (RFC 9449 section 6.1); empty: none
	Certificate string    // SHA-256 of the one that it is bound to (RFC 8705 section 3.1); empty: none
}

// check says whether a token is for here, and for now.
func (t *Token) check(o Options, now time.Time) error {
	switch {
	case !slices.ContainsFunc(o.Servers, func(server string) bool { return oauthdoc.Same(server, t.Issuer) }):
		return fmt.Errorf("%w: %.200q gave it, who is none of the authorization servers here", ErrToken, t.Issuer)
	case !slices.ContainsFunc(t.Audience, func(a string) bool { // a slash at the end makes no other resource
		return oauthdoc.Same(strings.TrimSuffix(a, "/"), strings.TrimSuffix(o.Resource, "/"))
	}):
		return fmt.Errorf("%w: it is for %.300q, not for %s", ErrToken, t.Audience, o.Resource)
	case t.Subject == "":
		return fmt.Errorf("%w: it says of nobody who it is for", ErrToken)
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return fmt.Errorf("%w: it expired at %s", ErrToken, t.Expires.UTC().Format(time.RFC3339))
	case o.Proofs != ProofsTaken && t.Thumbprint == "":
		return fmt.Errorf("%w: it is not bound to a key", ErrToken)
	}
	return nil
}

// Any returns a Verifier that takes the tokens that one of several takes.
func Any(all ...Verifier) Verifier { return anyOf(all) }

type anyOf []Verifier

// Verify implements [Verifier].
func (a anyOf) Verify(ctx context.Context, token, resource string) (*Token, error) {
	err := fmt.Errorf("%w: nobody checks it", ErrToken)
	for _, v := range a {
		t, fault := v.Verify(ctx, token, resource)
		if fault == nil {
			return t, nil
		}
		if errors.Is(fault, ErrUnavailable) || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrInactive) {
			err = fault
		}
	}
	return nil, err
}

type tokenHash [sha256.Size]byte

func hashOf(token string) tokenHash {
	var text [1 << 10]byte // which most tokens fit, so that none is copied to the heap
	return sha256.Sum256(append(text[:0], token...))
}

// cache remembers tokens that were checked, by their hashes.
type cache struct {
	mu     sync.Mutex
	tokens map[tokenHash]remembered
}

type remembered struct {
	token *Token
	until time.Time
}

func (c *cache) get(hash tokenHash, now time.Time) *Token {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, found := c.tokens[hash]
	if !found {
		return nil
	}
	if !now.Before(r.until) {
		delete(c.tokens, hash)
		return nil
	}
	return r.token
}

// put remembers a token. Where there are too many, some others are forgotten: they are checked again.
func (c *cache) put(hash tokenHash, t *Token, now time.Time) {
	until := t.Expires
	if until.IsZero() {
		until = now.Add(maxRemembered)
	}
	if !t.Fresh.IsZero() && t.Fresh.Before(until) {
		until = t.Fresh
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tokens == nil {
		c.tokens = map[tokenHash]remembered{}
	}
	for other := range c.tokens {
		if len(c.tokens) < maxCached {
			break
		}
		delete(c.tokens, other)
	}
	c.tokens[hash] = remembered{t, until}
}
