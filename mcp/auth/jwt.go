package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/mcp/oauth"
)

const (
	maxDocument = 1 << 20          // bytes of what an authorization server publishes
	keysLife    = time.Hour        // after which keys are read again
	keysPause   = 30 * time.Second // between two looks for a key that is not known
	keysTime    = 10 * time.Second // for one look
	faultPause  = time.Second      // between two looks that find no keys which can be used
	maxStale    = 24 * time.Hour   // for how long keys are used that cannot be read again
)

// JWTOptions say whose signatures hold.
type JWTOptions struct {
	// Issuer is the authorization server; it stands in each of its tokens.
	Issuer string
	// Keys is the URL of its keys (a JWK Set); default as its metadata says.
	Keys string
	// HTTP reads the metadata and the keys; default [oauth.Guarded] without exceptions.
	HTTP *http.Client
}

// JWT returns a Verifier of signed access tokens (RFC 9068). The keys are read when the first is needed, and again
// when a token names one that is not known.
func JWT(o JWTOptions) Verifier {
	if o.HTTP == nil {
		o.HTTP = oauth.Guarded(nil)
	}
	j := &jwt{options: o, turn: make(chan struct{}, 1), now: time.Now}
	j.keys.Store(&keySet{})
	return j
}

type jwt struct {
	options JWTOptions
	turn    chan struct{} // of capacity 1: who could send on it reads keys
	now     func() time.Time

	keys atomic.Pointer[keySet]
}

// keySet are the keys as they were read. It is not changed once it is seen.
type keySet struct {
	keys   jws.Keys
	read   time.Time // zero: never
	looked time.Time // when it was last tried
	fault  error     // why that look found none
}

// claims are those of an access token (RFC 9068 section 2.2, RFC 7800).
type claims struct {
	Issuer   string       `json:"iss"`
	Subject  string       `json:"sub"`
	Client   string       `json:"client_id"`
	Party    string       `json:"azp"`
	Audience jws.Texts    `json:"aud"`
	Scope    words        `json:"scope"`
	Scopes   words        `json:"scp"`
	Expires  *jws.Seconds `json:"exp"`
	From     *jws.Seconds `json:"nbf"`
	Bound    struct {
		Thumbprint  string `json:"jkt"`
		Certificate string `json:"x5t#S256"`
	} `json:"cnf"`
}

// words are texts with blanks between, or several.
type words []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *words) UnmarshalJSON(data []byte) error {
	var all jws.Texts
	err := all.UnmarshalJSON(data)
	for _, text := range all {
		*w = append(*w, strings.Fields(text)...)
	}
	return err
}

// Verify implements [Verifier].
func (j *jwt) Verify(ctx context.Context, token, _ string) (*Token, error) {
	object, err := jose.ParseSignedCompact(token, jws.Algorithms())
	if err != nil || len(object.Signatures) != 1 {
		return nil, fmt.Errorf("%w: it is not signed as %s signs", ErrToken, j.options.Issuer)
	}
	header := object.Signatures[0].Header
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); !slices.Contains([]string{"", "jwt", "at+jwt", "application/at+jwt"}, strings.ToLower(kind)) {
		return nil, fmt.Errorf("%w: it is of the type %.40q", ErrToken, kind)
	}
	key, err := j.key(ctx, header)
	if err != nil {
		return nil, err
	}
	payload, err := object.Verify(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %s did not sign it", ErrToken, j.options.Issuer)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	now := j.now()
	switch {
	case c.Issuer != j.options.Issuer:
		return nil, fmt.Errorf("%w: %.200q gave it, not %s", ErrToken, c.Issuer, j.options.Issuer)
	case c.Expires == nil:
		return nil, fmt.Errorf("%w: it says not when it expires", ErrToken)
	case c.From != nil && c.From.Time().After(now.Add(skew)):
		return nil, fmt.Errorf("%w: it holds from %s only", ErrToken, c.From.Time().UTC().Format(time.RFC3339))
	}
	return c.token(), nil
}

func (c *claims) token() *Token {
	t := &Token{Issuer: c.Issuer, Subject: c.Subject, ClientID: c.Client, Audience: c.Audience, Scopes: append(c.Scope, c.Scopes...), Thumbprint: c.Bound.Thumbprint, Certificate: c.Bound.Certificate}
	if t.ClientID == "" {
		t.ClientID = c.Party
	}
	if t.Subject == "" {
		t.Subject = t.ClientID
	}
	if c.Expires != nil {
		t.Expires = c.Expires.Time()
	}
	return t
}

// key is that with which a token says that it is signed. Where it names none there must be only one that fits.
func (j *jwt) key(ctx context.Context, header jose.Header) (any, error) {
	known, err := j.known(ctx, header)
	if err != nil {
		return nil, err
	}
	if key := known.keys.Find(header); key != nil {
		return key.Key, nil
	}
	return nil, fmt.Errorf("%w: %s has no key %.100q", ErrToken, j.options.Issuer, header.KeyID)
}

// serves reports whether keys are taken as they are: they are new, and have the one that is wanted, or it was looked
// for a moment ago.
func (s *keySet) serves(header jose.Header, now time.Time) bool {
	if !s.holds(now) {
		return s.fault != nil && now.Sub(s.looked) < faultPause
	}
	return now.Sub(s.read) < keysLife && s.keys.Find(header) != nil || now.Sub(s.looked) < keysPause
}

// holds reports whether keys are new enough to be used.
func (s *keySet) holds(now time.Time) bool { return !s.read.IsZero() && now.Sub(s.read) <= maxStale }

// usable returns the keys, or why there are none that can be used.
func (s *keySet) usable(issuer string, now time.Time) (*keySet, error) {
	if !s.holds(now) {
		return nil, fmt.Errorf("%w: the keys of %s: %w", ErrUnavailable, issuer, s.fault)
	}
	return s, nil
}

// known are the keys: read again where they are old, or where one is missing.
func (j *jwt) known(ctx context.Context, header jose.Header) (*keySet, error) {
	if s, now := j.keys.Load(), j.now(); s.serves(header, now) {
		return s.usable(j.options.Issuer, now)
	}
	select {
	case j.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	defer func() { <-j.turn }()
	before := j.keys.Load()
	if now := j.now(); before.serves(header, now) {
		return before.usable(j.options.Issuer, now)
	}
	// What one request asks for serves all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTime)
	defer cancel()
	keys, err := j.readKeys(ctx)
	now := j.now()
	next := &keySet{keys: keys, read: now, looked: now}
	if err != nil {
		next.keys, next.read, next.fault = before.keys, before.read, err
	}
	j.keys.Store(next)
	return next.usable(j.options.Issuer, now)
}

// readKeys reads the keys of the authorization server.
func (j *jwt) readKeys(ctx context.Context) (jws.Keys, error) {
	at := j.options.Keys
	if at == "" {
		var err error
		if at, err = published(ctx, j.options.HTTP, j.options.Issuer, "jwks_uri"); err != nil {
			return nil, err
		}
	}
	var set json.RawMessage
	if err := document(ctx, j.options.HTTP, at, &set); err != nil {
		return nil, err
	}
	keys, err := jws.ReadKeys(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return keys, nil
}

// published finds the URL that the metadata of an authorization server has as a member.
func published(ctx context.Context, client *http.Client, issuer, member string) (string, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%.200q is no URL of an authorization server", issuer)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	for _, place := range places {
		var found map[string]any
		if err = document(ctx, client, place, &found); err != nil {
			continue
		}
		if name, _ := found["issuer"].(string); name != issuer {
			return "", fmt.Errorf("the metadata at %s is of %.200q, not of %s", place, name, issuer)
		}
		if at, _ := found[member].(string); at != "" {
			return at, nil
		}
		err = fmt.Errorf("the metadata at %s names no %s", place, member)
	}
	return "", err
}

// document reads a JSON document.
func document(ctx context.Context, client *http.Client, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	return do(client, req, into)
}

// do sends a request, and reads the JSON of the response.
func do(client *http.Client, req *http.Request, into any) error {
	response, err := client.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: HTTP status %d", req.URL, response.StatusCode)
	case len(body) > maxDocument:
		return fmt.Errorf("%s has more than %d KiB", req.URL, maxDocument>>10)
	}
	return json.Unmarshal(body, into)
}
