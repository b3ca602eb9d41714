package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Authentication methods that clients register.
const (
	methodNone = "none"            // no authentication
	methodKey  = "private_key_jwt" // a signed assertion
)

const (
	maxAssertion  = 8 << 10          // largest size in bytes
	assertionTime = 10 * time.Minute // largest lifetime of an assertion
)

var (
	// errIdentity reports that a client did not authenticate as required.
	errIdentity = errors.New("the client is not authenticated")
	// errAssertion reports that the client's assertion is invalid.
	errAssertion = fmt.Errorf("%w: client_assertion", errIdentity)
)

func identityFault(err error) error {
	return op.NewStatusError(oidc.ErrInvalidClient().WithDescription("%v", err).WithParent(err), http.StatusUnauthorized)
}

// An assertion is a valid signed statement of a client about itself (RFC 7523 section 2.2). It may
// have been used before; spend checks that.
type assertion struct {
	id    string
	until time.Time // time when it expires
}

// sign sets the keys of c if the registration is for signed assertions.
func (r *registration) sign(c *client) (err error) {
	if r.Method != methodKey {
		return nil
	}
	switch isSet := len(r.Keys) > 0 && string(r.Keys) != "null"; {
	case isSet == (r.KeysAt != ""):
		return fmt.Errorf("%s needs either jwks or jwks_uri", methodKey)
	case isSet:
		if c.Keys, err = jws.ReadKeys(r.Keys); err != nil {
			return fmt.Errorf("jwks: %w", err)
		}
		if len(c.Keys) == 0 {
			return errors.New("jwks: expected a public key of RSA with 2048 bits or more, Ed25519, or ECDSA")
		}
		return nil
	}
	u, err := url.Parse(r.KeysAt)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || len(r.KeysAt) > maxClientID {
		return fmt.Errorf("jwks_uri: expected an https URL, got %.200q", r.KeysAt)
	}
	c.KeysAt = r.KeysAt
	return nil
}

// VerifyClient implements [op.Server].
func (e *endpoints) VerifyClient(ctx context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	s := e.server
	c, signed, err := s.authenticate(ctx, r.Data)
	switch {
	case errors.Is(err, errNoClient), errors.Is(err, errIdentity):
		return nil, identityFault(err)
	case err != nil: // clients that receive invalid_client discard their logins
		s.options.Logger.WarnContext(ctx, "a client cannot be looked up", "client", r.Data.ClientID, "error", err)
		return nil, op.NewStatusError(serverFault(err), http.StatusServiceUnavailable)
	}
	return protocolClient{c, s.options.Scopes, signed}, nil
}

// authenticate returns the client that sent a request.
func (s *Server) authenticate(ctx context.Context, sent *op.ClientCredentials) (*client, *assertion, error) {
	if sent.ClientSecret != "" {
		return nil, nil, fmt.Errorf("%w: clients have no secrets here", errIdentity)
	}
	if sent.ClientAssertion != "" {
		return s.asserted(ctx, sent)
	}
	c, err := s.client(ctx, sent.ClientID)
	if err == nil && c.signs() {
		err = fmt.Errorf("%w: it is missing; the client must sign an assertion (%s)", errAssertion, methodKey)
	}
	return c, nil, err
}

// asserted returns the client that signed an assertion, and the assertion.
func (s *Server) asserted(ctx context.Context, sent *op.ClientCredentials) (*client, *assertion, error) {
	algorithms := jws.Algorithms()
	object, err := jose.ParseSignedCompact(sent.ClientAssertion, algorithms)
	if err != nil || len(object.Signatures) != 1 || len(sent.ClientAssertion) > maxAssertion {
		return nil, nil, fmt.Errorf("%w: expected a JWT of up to %d KiB, signed with one of %s", errAssertion, maxAssertion>>10, strings.Join(jws.Names(algorithms), ", "))
	}
	header := object.Signatures[0].Header
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); !slices.Contains([]string{"", "jwt", "client-authentication+jwt"}, strings.ToLower(kind)) {
		return nil, nil, fmt.Errorf("%w: its type is %.40q, expected JWT", errAssertion, kind)
	}
	var claims assertionClaims
	if err := json.Unmarshal(object.UnsafePayloadWithoutVerification(), &claims); err != nil { // the claims are not verified yet, but they name the client with the keys
		return nil, nil, fmt.Errorf("%w: its claims are not those of an assertion", errAssertion)
	}
	c, key, err := s.keyOf(ctx, claims.Subject, header)
	if err != nil {
		return nil, nil, err
	}
	if _, err := object.Verify(key); err != nil {
		return nil, nil, fmt.Errorf("%w: it is not signed with a key of the client", errAssertion)
	}
	signed, err := claims.check(sent.ClientID, []string{s.options.Issuer, s.options.Issuer + tokenPath}, time.Now())
	return c, signed, err
}

// keyOf returns the client and its key that verifies a signature. Only the client's own keys count,
// whatever the header contains. If the client publishes its keys, an unknown key makes keyOf read
// them again.
func (s *Server) keyOf(ctx context.Context, id string, header jose.Header) (*client, *jose.JSONWebKey, error) {
	for _, again := range []bool{false, true} {
		c, err := s.lookUp(ctx, id, again)
		if err != nil {
			return nil, nil, err
		}
		if !c.signs() {
			return nil, nil, fmt.Errorf("%w: the client is not registered with %s", errAssertion, methodKey)
		}
		keys := c.Keys
		if c.KeysAt != "" {
			keys, err = s.keySets.get(ctx, c.KeysAt, again, func(ctx context.Context) (jws.Keys, error) { return s.readKeySet(ctx, c.KeysAt) })
		}
		if err != nil {
			return nil, nil, err
		}
		if key := keys.Find(header); key != nil {
			return c, key, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: the client has no key %.100q, or none for %s", errAssertion, header.KeyID, header.Algorithm)
}

// readKeySet reads the keys that a client publishes at a URL.
func (s *Server) readKeySet(ctx context.Context, at string) (jws.Keys, error) {
	text, err := s.fetch(ctx, at)
	if err != nil {
		return nil, err
	}
	keys, err := jws.ReadKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the client's keys at %.200s: %w", errAssertion, at, err)
	}
	return keys, nil
}

// assertionClaims are the claims of an assertion (RFC 7523 section 3).
type assertionClaims struct {
	Issuer   string       `json:"iss"`
	Subject  string       `json:"sub"`
	Audience jws.Texts    `json:"aud"`
	ID       string       `json:"jti"`
	Expires  *jws.Seconds `json:"exp"`
	From     *jws.Seconds `json:"nbf"`
	At       *jws.Seconds `json:"iat"`
}

// check checks that the assertion is about the client id and is for this server only. If it were
// valid for other servers, too, one of them could have sent it.
func (a *assertionClaims) check(id string, here []string, now time.Time) (*assertion, error) {
	isLater := func(at *jws.Seconds) bool { return at != nil && at.Time().After(now.Add(jws.Skew)) }
	why := ""
	switch {
	case a.Issuer != a.Subject || id != "" && id != a.Subject:
		why = "iss, sub and client_id must be the same client"
	case len(a.Audience) == 0 || slices.ContainsFunc(a.Audience, func(aud string) bool { return !slices.Contains(here, aud) }):
		why = fmt.Sprintf("it is for %.300q (aud), expected %s", a.Audience, here[0])
	case a.Expires == nil || now.Sub(a.Expires.Time()) >= jws.Skew:
		why = "it expired, or has no expiry time (exp)"
	case a.Expires.Time().After(now.Add(assertionTime + jws.Skew)):
		why = fmt.Sprintf("it is valid for longer than %v (exp)", assertionTime)
	case isLater(a.From) || isLater(a.At):
		why = "it is not valid yet (nbf, iat)"
	case a.ID == "" || len(a.ID) > jws.MaxID:
		why = fmt.Sprintf("it has no id of 1 to %d bytes (jti)", jws.MaxID)
	default:
		return &assertion{a.ID, a.Expires.Time().Add(jws.Skew)}, nil
	}
	return nil, fmt.Errorf("%w: %s", errAssertion, why)
}
