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
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/mcp/oauth"
)

const (
	maxDocument = 1 << 20          // maximum bytes of a document of an authorization server
	keysLife    = time.Hour        // time after which keys are read again
	keysPause   = 30 * time.Second // minimum time between two reads because of an unknown key
	keysTime    = 10 * time.Second // timeout of one read
	faultPause  = time.Second      // minimum time between two reads if no keys are usable
	maxStale    = 24 * time.Hour   // how long keys that cannot be read again are used
)

// JWTOptions configure [JWT].
type JWTOptions struct {
	// Issuer is the authorization server, which must be the issuer of each token.
	Issuer string
	// Keys is the URL of the issuer's keys (a JWK Set). The default is the URL in the metadata of
	// Issuer.
	Keys string
	// Groups is the claim of the user's groups: its name, or a path such as /realm_access/roles. The
	// default is groups.
	Groups string
	// HTTP reads the metadata and the keys. The default is a client from [oauth.Guarded] without
	// exceptions.
	HTTP *http.Client
}

// JWT returns a Verifier for signed access tokens (RFC 9068). It reads the issuer's keys when the
// first token arrives, and again when a token names an unknown key.
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
	turn    chan struct{} // capacity 1; contains a value while keys are read
	now     func() time.Time

	keys atomic.Pointer[keySet]
}

// A keySet holds the keys of one read. It is immutable once it is shared.
type keySet struct {
	keys   jws.Keys
	read   time.Time // zero if the keys were never read
	looked time.Time // time of the last attempt
	fault  error     // why the last attempt found no keys
}

// claims are the claims of an access token (RFC 9068 section 2.2, RFC 7800).
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

// words is a list of texts. In JSON it is one text with blanks between the words, or an array of
// texts.
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
		return nil, fmt.Errorf("%w: it does not have exactly one signature that %s could have made", ErrToken, j.options.Issuer)
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
		return nil, fmt.Errorf("%w: it does not have the signature of %s", ErrToken, j.options.Issuer)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	now := j.now()
	switch {
	case !oauthdoc.Same(c.Issuer, j.options.Issuer):
		return nil, fmt.Errorf("%w: it was issued by %.200q, not by %s", ErrToken, c.Issuer, j.options.Issuer)
	case c.Expires == nil:
		return nil, fmt.Errorf("%w: it has no expiry time", ErrToken)
	case c.From != nil && c.From.Time().After(now.Add(skew)):
		return nil, fmt.Errorf("%w: it is not valid before %s", ErrToken, c.From.Time().UTC().Format(time.RFC3339))
	}
	t := c.token()
	t.Issuer = j.options.Issuer // the same spelling of the issuer for all tokens
	t.Groups = groupsIn(payload, j.options.Groups)
	return t, nil
}

func (c *claims) token() *Token {
	t := &Token{Subject: c.Subject, ClientID: c.Client, Audience: c.Audience, Scopes: append(c.Scope, c.Scopes...), Thumbprint: c.Bound.Thumbprint, Certificate: c.Bound.Certificate}
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

// groupsIn returns the groups in the claims of a token.
func groupsIn(payload []byte, claim string) []string {
	var all map[string]any
	if json.Unmarshal(payload, &all) != nil {
		return nil
	}
	return oauthdoc.Groups(all, claim)
}

// key returns the key that the header of a token names. If the header names none, exactly one key
// must fit.
func (j *jwt) key(ctx context.Context, header jose.Header) (any, error) {
	known, err := j.known(ctx, header)
	if err != nil {
		return nil, err
	}
	if !known.holds(j.now()) {
		return nil, fmt.Errorf("%w: the keys of %s: %w", ErrUnavailable, j.options.Issuer, known.fault)
	}
	if key := known.keys.Find(header); key != nil {
		return key.Key, nil
	}
	return nil, fmt.Errorf("%w: %s has no key %.100q", ErrToken, j.options.Issuer, header.KeyID)
}

// serves reports whether the keys can be used without another read. This holds if they are new and
// contain the wanted key, or if a read was tried a moment ago.
func (s *keySet) serves(header jose.Header, now time.Time) bool {
	if !s.holds(now) {
		return s.fault != nil && now.Sub(s.looked) < faultPause
	}
	return now.Sub(s.read) < keysLife && s.keys.Find(header) != nil || now.Sub(s.looked) < keysPause
}

// holds reports whether keys are new enough to be used.
func (s *keySet) holds(now time.Time) bool { return !s.read.IsZero() && now.Sub(s.read) <= maxStale }

// known returns the keys of the issuer. It reads them again if they are old or the wanted key is
// missing.
func (j *jwt) known(ctx context.Context, header jose.Header) (*keySet, error) {
	if s := j.keys.Load(); s.serves(header, j.now()) {
		return s, nil
	}
	select {
	case j.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	defer func() { <-j.turn }()
	before := j.keys.Load()
	if before.serves(header, j.now()) {
		return before, nil
	}
	// This read serves all requests, so it must not end with the present request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTime)
	defer cancel()
	keys, err := j.readKeys(ctx)
	now := j.now()
	next := &keySet{keys: keys, read: now, looked: now}
	if err != nil {
		next.keys, next.read, next.fault = before.keys, before.read, err
	}
	j.keys.Store(next)
	return next, nil
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	var set json.RawMessage
	if err := do(j.options.HTTP, req, &set); err != nil {
		return nil, err
	}
	keys, err := jws.ReadKeys(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return keys, nil
}

// published returns the URL in one member of an authorization server's metadata.
func published(ctx context.Context, client *http.Client, issuer, member string) (at string, err error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%.200q is not the URL of an authorization server", issuer)
	}
	err = oauthdoc.Read(ctx, client, oauthdoc.Issuer(u), func(text []byte) error {
		var found map[string]any
		if err := oauthdoc.Decode(text, &found); err != nil {
			return err
		}
		name, _ := found["issuer"].(string)
		at, _ = found[member].(string)
		switch {
		case name == "":
			return oauthdoc.ErrNone
		case !oauthdoc.Same(name, issuer):
			return fmt.Errorf("it names the issuer %.200q", name)
		case at == "":
			return fmt.Errorf("it names no %s", member)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("the metadata of the authorization server %s: %w", issuer, err)
	}
	return at, nil
}

// do sends a request and decodes the JSON response.
func do(client *http.Client, req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
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
