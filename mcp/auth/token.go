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
	// skew is the allowed difference between the clocks of this machine and of an authorization
	// server.
	skew = jws.Skew
	// maxCached is the maximum number of checked tokens that a Guard remembers.
	maxCached = 10_000
	// maxRemembered is how long a Guard remembers a token without an expiry time.
	maxRemembered = time.Minute
)

var (
	// ErrToken reports that a token is invalid, or not valid for this resource.
	ErrToken = errors.New("the access token is not valid")
	// ErrInactive reports that the authorization server declared a token invalid everywhere, for
	// example because it was revoked. It wraps [ErrToken]. Sessions and tokens that were obtained
	// with the token should end.
	ErrInactive = fmt.Errorf("%w: it is not active", ErrToken)
	// ErrUnavailable reports that a token cannot be checked now; the response has status 503.
	ErrUnavailable = errors.New("access tokens cannot be checked now")
)

// A Verifier checks the token of a request to a resource and returns its contents. The error wraps
// [ErrToken] if the token is invalid, [ErrInactive] if it is invalid everywhere, or
// [ErrUnavailable] if the check is not possible now. A Verifier must be safe for concurrent use.
type Verifier interface {
	Verify(ctx context.Context, token, resource string) (*Token, error)
}

// A Token holds the contents of a valid access token.
type Token struct {
	Issuer      string // the authorization server
	Subject     string // the user, or the client if it acts on its own behalf
	ClientID    string
	Audience    []string // the resources that the token is for
	Scopes      []string
	Groups      []string  // of the user, as far as the issuer names them
	Expires     time.Time // zero if unknown
	Fresh       time.Time // time until which the token need not be checked again; zero means until it expires
	Thumbprint  string    // thumbprint of the key that the token is bound to (RFC 9449 section 6.1), or empty
	Certificate string    // SHA-256 of the certificate that the token is bound to (RFC 8705 section 3.1), or empty
}

// check returns an error if a token is not valid for this resource and time.
func (t *Token) check(o Options, now time.Time) error {
	switch {
	case !slices.ContainsFunc(o.Servers, func(server string) bool { return oauthdoc.Same(server, t.Issuer) }):
		return fmt.Errorf("%w: it was issued by %.200q, which is not an authorization server of this endpoint", ErrToken, t.Issuer)
	case !slices.ContainsFunc(t.Audience, func(a string) bool { // a final slash does not make it another resource
		return oauthdoc.Same(strings.TrimSuffix(a, "/"), strings.TrimSuffix(o.Resource, "/"))
	}):
		return fmt.Errorf("%w: it is for %.300q, not for %s", ErrToken, t.Audience, o.Resource)
	case t.Subject == "":
		return fmt.Errorf("%w: it has no subject", ErrToken)
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return fmt.Errorf("%w: it expired at %s", ErrToken, t.Expires.UTC().Format(time.RFC3339))
	case o.Proofs != ProofsTaken && t.Thumbprint == "":
		return fmt.Errorf("%w: it is not bound to a key", ErrToken)
	}
	return nil
}

// Any returns a Verifier that accepts a token if one of several Verifiers accepts it.
func Any(all ...Verifier) Verifier { return anyOf(all) }

type anyOf []Verifier

// Verify implements [Verifier].
func (a anyOf) Verify(ctx context.Context, token, resource string) (*Token, error) {
	err := fmt.Errorf("%w: there is no verifier", ErrToken)
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
	var text [1 << 10]byte // most tokens fit, so they need no copy on the heap
	return sha256.Sum256(append(text[:0], token...))
}

// cache holds checked tokens by hash.
type cache struct {
	mu      sync.Mutex
	tokens  map[tokenHash]remembered
	cleared int // number of calls of clear
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

// clear removes all tokens.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
	c.cleared++
}

// clears returns the number of calls of clear.
func (c *cache) clears() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cleared
}

// put adds a token, unless the cache was cleared since clears returned the number before. If the
// cache is full, put drops some other tokens, which are then checked again.
func (c *cache) put(hash tokenHash, t *Token, now time.Time, before int) {
	until := t.Expires
	if until.IsZero() {
		until = now.Add(maxRemembered)
	}
	if !t.Fresh.IsZero() && t.Fresh.Before(until) {
		until = t.Fresh
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cleared != before { // the token may have been checked before the reason for clearing
		return
	}
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
