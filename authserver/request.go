package authserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// requestTime is the longest time from the client's request to the user's consent.
	requestTime = 10 * time.Minute
	// maxParameter is the largest size of a parameter in bytes.
	maxParameter = 4 << 10
	// challengeSize is the length of a code challenge (RFC 7636 section 4.2).
	challengeSize = 43
	// thumbprintSize is the length of a key's thumbprint (RFC 9449 section 10).
	thumbprintSize = 43
)

// A request is a client's request for a user's permission. The pages carry it sealed, so that
// nothing is stored before the user logs in.
type request struct {
	ID        string    `json:"id"` // each request gets only one response
	Client    string    `json:"client"`
	Redirect  string    `json:"redirect"`
	State     string    `json:"state,omitempty"`
	Challenge string    `json:"challenge"`
	Key       string    `json:"key,omitempty"` // thumbprint of the key to which the code is bound, or empty
	Resource  string    `json:"resource"`
	Scopes    []string  `json:"scopes,omitempty"`
	Prompt    []string  `json:"prompt,omitempty"`
	Browser   string    `json:"browser"` // hash of the browser's cookie
	Until     time.Time `json:"until"`
	Home      string    `json:"home,omitempty"` // path to which the browser returns, if no client is involved
}

const requestContext = "authserver request"

// endpoints implements the endpoints of package op, which parses requests, routes them and writes
// responses. Package op also checks redirect URIs, response types and scopes.
type endpoints struct {
	op.UnimplementedServer
	server *Server
}

// VerifyAuthRequest implements [op.Server]. The user sees its errors, because the redirect URI is
// not yet known to belong to the client.
func (e *endpoints) VerifyAuthRequest(ctx context.Context, r *op.Request[oidc.AuthRequest]) (*op.ClientRequest[oidc.AuthRequest], error) {
	for name, values := range r.Form {
		if len(values) > 1 || len(values[0]) > maxParameter {
			return nil, oidc.ErrInvalidRequestRedirectURI().WithDescription("the parameter %.40q occurs twice, or is too long", name)
		}
	}
	c, err := e.server.client(ctx, r.Data.ClientID)
	if err != nil {
		return nil, oidc.ErrInvalidRequestRedirectURI().WithDescription("client_id: %v", err).WithParent(err)
	}
	if !c.allowsRedirect(r.Data.RedirectURI) {
		return nil, oidc.ErrInvalidRequestRedirectURI().WithDescription("redirect_uri: %.300q is not registered for the client", r.Data.RedirectURI)
	}
	r.Data.ResponseMode = oidc.ResponseModeQuery // Authorize refuses other modes
	if len(r.Data.Scopes) == 0 {
		r.Data.Scopes = append([]string{oidc.ScopeOpenID}, e.server.options.Needs...) // package op requires at least one
	}
	return &op.ClientRequest[oidc.AuthRequest]{Request: r, Client: protocolClient{client: c, scopes: e.server.options.Scopes}}, nil
}

// Authorize implements [op.Server]. It redirects the browser to the login page.
func (e *endpoints) Authorize(_ context.Context, r *op.ClientRequest[oidc.AuthRequest]) (*op.Redirect, error) {
	s, asked := e.server, r.Data
	resource, err := s.resource(r.Form.Get("resource"))
	switch {
	case asked.RequestParam != "" || r.Form.Has("request_uri"):
		return nil, oidc.ErrRequestNotSupported().WithDescription("request and request_uri are not supported")
	case r.Form.Has("response_mode") && r.Form.Get("response_mode") != string(oidc.ResponseModeQuery):
		return nil, oidc.ErrInvalidRequest().WithDescription("response_mode: expected query")
	case asked.CodeChallengeMethod != oidc.CodeChallengeMethodS256:
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge_method: expected S256 (PKCE)")
	case len(asked.CodeChallenge) != challengeSize || !isToken(asked.CodeChallenge):
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge: expected the base64url text of a SHA-256 hash (PKCE)")
	case r.Form.Has("dpop_jkt") && (len(r.Form.Get("dpop_jkt")) != thumbprintSize || !isToken(r.Form.Get("dpop_jkt"))):
		return nil, oidc.ErrInvalidRequest().WithDescription("dpop_jkt: expected the base64url text of the SHA-256 thumbprint of a key")
	case err != nil:
		return nil, err
	}
	redirect := op.NewRedirect("")
	browser := s.cookie(&http.Request{Header: r.Header}, browserCookie)
	if browser == "" {
		browser = rand.Text()
		redirect.Header.Add("Set-Cookie", s.newCookie(browserCookie, browser, 0).String())
	}
	sealed, err := s.seal(request{
		ID: rand.Text(), Client: asked.ClientID, Redirect: asked.RedirectURI, State: asked.State, Challenge: asked.CodeChallenge, Key: r.Form.Get("dpop_jkt"),
		Resource: resource, Scopes: s.validScopes(asked.Scopes), Prompt: asked.Prompt, Browser: hash(browser), Until: time.Now().Add(requestTime),
	}, requestContext)
	if err != nil {
		return nil, err
	}
	redirect.URL = loginPath + "?request=" + url.QueryEscape(sealed)
	return redirect, nil
}

func isToken(text string) bool {
	_, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil
}

// resource returns the canonical name of the requested resource (RFC 8707). It returns an error for
// a resource that this server does not issue tokens for.
func (s *Server) resource(asked string) (string, error) {
	own := s.options.Resource
	switch trimmed := strings.TrimSuffix(asked, "/"); {
	case asked == "" || sameResource(asked, own):
		return own, nil
	case s.options.Serves != nil && s.options.Serves(trimmed):
		return trimmed, nil
	}
	return "", oidc.ErrInvalidTarget().WithDescription("resource: %.300q is not protected by this server; %s is", asked, own)
}

// sameResource reports whether two names denote one resource. It ignores a final slash.
func sameResource(a, b string) bool {
	return oauthdoc.Same(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/"))
}

// validScopes returns the requested scopes that exist, each once. If there are none, it returns the
// scopes that every request needs.
func (s *Server) validScopes(asked []string) (scopes []string) {
	for _, scope := range asked {
		if slices.Contains(s.options.Scopes, scope) && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return s.options.Needs
	}
	return scopes
}

// errRequest reports that a page does not belong to a request of this browser.
var errRequest = errors.New("this login began in another browser, or too long ago: go back to the program, and begin again")

// pending returns the request of a page and its sealed text. It returns errRequest unless the
// request began in this browser.
func (s *Server) pending(r *http.Request) (*request, string, error) {
	sealed := r.FormValue("request")
	q := new(request)
	err := s.open(sealed, requestContext, q)
	browser := s.cookie(r, browserCookie)
	if err != nil || browser == "" || !hmac.Equal([]byte(hash(browser)), []byte(q.Browser)) || !time.Now().Before(q.Until) {
		return nil, "", errRequest
	}
	return q, sealed, nil
}

// back redirects the browser to the client with a response, after the user was asked.
func (s *Server) back(w http.ResponseWriter, r *http.Request, q *request, response any) {
	if fault, is := response.(*oidc.Error); is {
		fault.State = q.State
	}
	to, err := s.backURL(q.Redirect, response)
	if err != nil {
		s.fail(w, r, "go back to a client", err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// backURL returns the redirect URI with a response in its query.
func (s *Server) backURL(redirect string, response any) (string, error) {
	return op.AuthResponseURL(redirect, oidc.ResponseTypeCode, oidc.ResponseModeQuery, response, s.encoder)
}
