package oauth

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/oauthdoc"
)

// An Error is the error response of an authorization server (RFC 6749 section 5.2).
type Error struct {
	Code        string // such as invalid_grant
	Description string
	Status      int // HTTP status

	nonce string // the nonce that the server requires in the next proof
}

// Error returns a text with the code and the description.
func (e *Error) Error() string {
	text := "the authorization server says " + e.Code
	if e.Description != "" {
		text += ": " + e.Description
	}
	return text
}

// An accessToken authorizes requests to one server.
type accessToken struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero if unknown
	Scopes  []string  `json:"scopes,omitempty"` // granted scopes, or the requested ones if the server listed none
	Bound   bool      `json:"bound,omitempty"`  // set if the token must be sent with a proof
	At      time.Time `json:"at"`               // when it was obtained
	// Identity is the ID token of a login at an identity provider. Expires is then the expiry of
	// the ID token.
	Identity string `json:"identity,omitempty"`
	// Again is the earliest time to request another token.
	Again time.Time `json:"again,omitzero"`
	// From is the hash of the token that it was exchanged for.
	From string `json:"from,omitempty"`
}

// expiresSoon reports whether the token should be replaced now.
func (t *accessToken) expiresSoon(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Again) && !now.Add(min(ahead, t.Expires.Sub(t.At)/10)).Before(t.Expires)
}

// A Registration identifies and authenticates a client to an authorization server.
type Registration struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	// Method is the client's authentication method: none, client_secret_basic, client_secret_post
	// or private_key_jwt. If it is empty, the method is private_key_jwt with a Key, and none
	// without a Secret. Otherwise it is the first method that the authorization server supports.
	Method string `json:"method,omitempty"`
	// Redirect is the registered redirect URI. A login with another redirect URI needs a new
	// registration.
	Redirect string `json:"redirect,omitempty"`
	// Expires is when the secret expires; zero means never or unknown.
	Expires time.Time `json:"expires,omitzero"`
	// Key signs the client's assertions for private_key_jwt. It may be an RSA, Ed25519 or ECDSA key
	// (P-256, P-384 or P-521). KeyID, if not empty, identifies the key.
	Key   crypto.Signer `json:"-"`
	KeyID string        `json:"-"`
}

// stored returns the part of a registration from the options that may be stored.
func (r *Registration) stored() Registration {
	return Registration{ID: r.ID, Method: r.Method, Redirect: r.Redirect}
}

// whole returns the client's registration with its secrets.
func (c *Client) whole(of *issuer, as *Registration) *Registration {
	if c.options.Registered != nil {
		if r, ok := c.options.Registered(of.Issuer); ok && r.ID == as.ID {
			return &r
		}
	}
	return as
}

const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// method returns the client's authentication method.
func (r *Registration) method(of *issuer) string {
	switch {
	case r.Key != nil && (r.Method == "" || r.Method == methodKey):
		return methodKey
	case r.Secret == "":
		return methodNone
	case r.Method == methodBasic || r.Method == methodPost:
		return r.Method
	}
	return of.secretMethod()
}

// secretMethod returns the authentication method for a client with a secret. It is the first method
// that the authorization server lists, as that one is best supported (FastMCP revokes with only one
// of them). If the server lists none, it is the default in RFC 8414.
func (i *issuer) secretMethod() string {
	for _, method := range i.Methods {
		if method == methodBasic || method == methodPost {
			return method
		}
	}
	return methodBasic
}

// token requests a token. If the authorization server requires another nonce in the proof, it
// repeats the request.
func (c *Client) token(ctx context.Context, l *login, form url.Values, scopes []string) (*accessToken, error) {
	header, err := c.identify(l.Issuer, c.whole(l.Issuer, &l.Client), form)
	if err != nil {
		return nil, err
	}
	var answer tokenAnswer
	asked, nonce := c.now(), ""
	for try := 0; ; try++ {
		if l.Proof != nil {
			to, err := url.Parse(l.Issuer.Token)
			if err != nil {
				return nil, err
			}
			proof, err := l.Proof.sign(c.now(), http.MethodPost, to, "", nonce)
			if err != nil {
				return nil, err
			}
			header.Set(headerProof, proof)
		}
		err := c.post(ctx, l.Issuer.Token, header, form.Encode(), &answer)
		if refused, is := errors.AsType[*Error](err); is && refused.Code == faultNonce && refused.nonce != "" && l.Proof != nil && try == 0 {
			nonce = refused.nonce
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("a token of %s: %w", l.Issuer.Issuer, err)
		}
		break
	}
	t, err := answer.token(l.Proof != nil, asked, scopes)
	if err != nil {
		return nil, fmt.Errorf("a token of %s: %w", l.Issuer.Issuer, err)
	}
	return t, nil
}

// A tokenAnswer is the response from a token endpoint (RFC 6749 section 5.1).
type tokenAnswer struct {
	Access    string           `json:"access_token"`
	Type      string           `json:"token_type"`
	Refresh   string           `json:"refresh_token"`
	ExpiresIn oauthdoc.Seconds `json:"expires_in"`
	Scope     oauthdoc.Words   `json:"scope"`
	Identity  string           `json:"id_token"`
}

// token returns the token in the response. The flag proved reports whether the request had a proof;
// scopes are the requested scopes.
func (a *tokenAnswer) token(proved bool, asked time.Time, scopes []string) (*accessToken, error) {
	t := &accessToken{Access: a.Access, Refresh: a.Refresh, Scopes: scopes, At: asked, Identity: a.Identity}
	switch {
	case a.Access == "":
		return nil, errors.New("the response has no access_token")
	case strings.EqualFold(a.Type, "DPoP") && proved:
		t.Bound = true
	case a.Type == "" && !proved: // the usual case
	case !strings.EqualFold(a.Type, "Bearer"):
		return nil, fmt.Errorf("its type is %.40q, and only Bearer is sent", a.Type)
	}
	if len(a.Scope) > 0 {
		t.Scopes = a.Scope
	}
	if a.ExpiresIn > 0 {
		t.Expires = asked.Add(time.Duration(min(float64(a.ExpiresIn), maxExpires.Seconds()) * float64(time.Second)))
	}
	return t, nil
}

// maxExpires is the maximum assumed lifetime of a token. If the server ends it earlier, it responds
// with 401.
const maxExpires = 365 * 24 * time.Hour

// post sends a body, which is a form or JSON, and decodes the response.
func (c *Client) post(ctx context.Context, to string, header http.Header, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	response, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMetadata+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxMetadata:
		return fmt.Errorf("the response has more than %d KiB", maxMetadata>>10)
	}
	if !json.Valid(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if object := oauthdoc.FromForm(text); object != nil {
			text = object
		}
	}
	fault := oauthdoc.FaultOf(text)
	isGood := response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated
	switch {
	case fault.Code != "": // GitHub also sends an error with status 200
		refused := &Error{Code: plain(fault.Code), Description: plain(fault.Description), Status: response.StatusCode}
		if nonce := response.Header.Get(headerNonce); len(nonce) <= maxNonce {
			refused.nonce = nonce
		}
		return refused
	case !isGood && fault.Description != "":
		return fmt.Errorf("HTTP status %d: %s", response.StatusCode, plain(fault.Description))
	case !isGood:
		return fmt.Errorf("HTTP status %d", response.StatusCode)
	case into == nil:
		return nil
	}
	if err := oauthdoc.Decode(text, into); err != nil {
		return fmt.Errorf("the response is not a JSON object: %w", err)
	}
	return nil
}
