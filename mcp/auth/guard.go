package auth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// maxToken is the maximum size of an accepted token in bytes.
const maxToken = 16 << 10

// Options holds the settings of a Guard. Resource, Servers and Verifier are required.
type Options struct {
	// Resource is the URL of the MCP server as its clients know it, such as
	// https://example.com/mcp. The audience of each token must contain it.
	Resource string
	// Servers lists the issuers of the authorization servers for the resource. It must have at
	// least one.
	Servers []string
	// Verifier checks tokens.
	Verifier Verifier
	// Name is the display name of the server; optional.
	Name string
	// Scopes lists the scopes that clients should request when they log in. The metadata and each
	// 401 response name them, and always the scopes in Needs. Clients request further scopes when a
	// call is refused that needs them ([Guard.Challenge]).
	Scopes []string
	// Needs lists the scopes that every request needs; the default is none.
	Needs []string
	// Proofs decides whether tokens must be bound to a key (DPoP), and whether proofs must contain
	// nonces of this Guard.
	Proofs Proofs
	// Once, if not nil, reports whether a proof was not used before at any replica of the resource,
	// and remembers it for a time. If it fails, the request is refused with 503.
	Once func(ctx context.Context, proof string, keep time.Duration) (isNew bool, err error)
	// Secret, if not nil, makes the nonces of proofs valid at all replicas that have it.
	Secret []byte
}

// Proofs decides which tokens need a proof of possession (RFC 9449). A token that is bound to a key
// always needs one.
type Proofs int

const (
	// ProofsTaken also accepts tokens that are not bound to a key.
	ProofsTaken Proofs = iota
	// ProofsNeeded accepts only tokens that are bound to a key.
	ProofsNeeded
	// ProofsWithNonce is like ProofsNeeded, and each proof must contain a nonce that the Guard
	// issued a few minutes ago at most.
	ProofsWithNonce
)

// A Guard checks the access tokens of requests. It is safe for concurrent use.
type Guard struct {
	options  Options
	resource *url.URL
	document []byte // the metadata
	cache    cache
	proofs   proofs
	nonces   jws.Nonces
	now      func() time.Time
}

// New returns a Guard. The error names the missing or invalid option.
func New(o Options) (*Guard, error) {
	u, err := url.Parse(o.Resource)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("auth: Resource: expected the URL of the server, such as https://example.com/mcp, got %.200q", o.Resource)
	case len(o.Servers) == 0:
		return nil, errors.New("auth: Servers: expected the issuer of an authorization server, got none")
	case o.Verifier == nil:
		return nil, errors.New("auth: Verifier is missing: set JWT, Introspection or another")
	}
	o.Scopes = append(slices.Clone(o.Scopes), lacking(o.Scopes, o.Needs)...)
	if o.Secret == nil {
		o.Secret = []byte(rand.Text() + rand.Text())
	}
	g := &Guard{options: o, resource: u, nonces: jws.Nonces{Secret: o.Secret}, now: time.Now}
	g.document, err = json.Marshal(metadata{
		Resource: o.Resource, Servers: o.Servers, Scopes: o.Scopes, Methods: []string{"header"}, Name: o.Name,
		ProofAlgorithms: jws.Names(jws.ProofAlgorithms()), Bound: o.Proofs != ProofsTaken,
	})
	return g, err
}

// metadata is the metadata of a protected resource (RFC 9728 section 2).
type metadata struct {
	Resource        string   `json:"resource"`
	Servers         []string `json:"authorization_servers"`
	Scopes          []string `json:"scopes_supported,omitempty"`
	Methods         []string `json:"bearer_methods_supported"`
	Name            string   `json:"resource_name,omitempty"`
	ProofAlgorithms []string `json:"dpop_signing_alg_values_supported"`
	Bound           bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

const wellKnown = "/.well-known/oauth-protected-resource"

// MetadataPath returns the path at which [Guard.Metadata] must be served.
func (g *Guard) MetadataPath() string {
	return wellKnown + strings.TrimSuffix(g.resource.EscapedPath(), "/")
}

// Metadata returns a handler that serves the metadata by which clients find the authorization
// servers. Requests for it need no token.
func (g *Guard) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*") // the metadata is public
		if r.Method == http.MethodOptions {       // a preflight request for MCP-Protocol-Version
			h.Set("Access-Control-Allow-Headers", "*")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "max-age=300")
		_, _ = w.Write(g.document) // the client may be gone
	})
}

// Principal returns the principal of a request. It is meant for the field Principal of
// streamable.Options and httpsse.Options. If it refuses the token, its error is also the HTTP
// response, with a challenge that describes the required token.
func (g *Guard) Principal(r *http.Request) (*mcp.Principal, error) {
	t, refused := g.check(r)
	if refused != nil {
		return nil, refused
	}
	return &mcp.Principal{Subject: t.Subject, Issuer: t.Issuer, ClientID: t.ClientID, Scopes: t.Scopes, Groups: t.Groups}, nil
}

// Challenge returns the WWW-Authenticate header for a caller that lacks scopes for a call. It is
// meant for the field Challenge of streamable.Options.
func (g *Guard) Challenge(needs []string) string {
	return g.Forbidden(needs, nil).challenge
}

// Handler returns a handler that serves the metadata, and passes requests with a valid token on to
// next. There, [PrincipalOf] returns the [mcp.Principal]. Use it to protect handlers from other
// modules.
func (g *Guard) Handler(next http.Handler) http.Handler {
	documents := g.Metadata()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == g.MetadataPath() || r.URL.Path == wellKnown {
			documents.ServeHTTP(w, r)
			return
		}
		principal, err := g.Principal(r)
		if refused, is := errors.AsType[*Refusal](err); is {
			unreadbody.Close(w, r)
			refused.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, principal)))
	})
}

type principalKey struct{}

// PrincipalOf returns the principal of a request that passed [Guard.Handler], or nil.
func PrincipalOf(ctx context.Context) *mcp.Principal {
	p, _ := ctx.Value(principalKey{}).(*mcp.Principal)
	return p
}

// Forget makes the Guard check tokens again that it has checked before. Call it when a token may have
// been revoked.
func (g *Guard) Forget() { g.cache.drop() }

// First returns a function that tries several functions in order, for example one for keys and one
// for tokens. It returns the first principal, or the error of the last function.
func First(all ...func(*http.Request) (*mcp.Principal, error)) func(*http.Request) (*mcp.Principal, error) {
	return func(r *http.Request) (p *mcp.Principal, err error) {
		err = errors.New("no request is accepted")
		for _, principal := range all {
			if p, err = principal(r); err == nil {
				return p, nil
			}
		}
		return nil, err
	}
}

// check returns the token of a request. It returns a refusal if the token is missing, invalid or
// lacks required scopes.
func (g *Guard) check(r *http.Request) (*Token, *Refusal) {
	scheme, text, refused := g.credentials(r)
	if refused != nil {
		return nil, refused
	}
	now := g.now()
	hash := hashOf(text)
	t, turn := g.cache.get(hash, now)
	if t == nil {
		var err error
		t, err = g.options.Verifier.Verify(share.With(r.Context(), share.Key("", "", r.RemoteAddr)), text, g.options.Resource)
		if err == nil {
			err = t.check(g.options, now)
		}
		if err != nil {
			return nil, g.refuseToken(err)
		}
		g.cache.put(hash, t, now, turn)
	}
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return nil, g.refuseToken(fmt.Errorf("%w: it expired", ErrToken))
	}
	if refused := g.checkBinding(r, scheme, text, t, now); refused != nil {
		return nil, refused
	}
	if missing := lacking(t.Scopes, g.options.Needs); len(missing) > 0 {
		return nil, g.Forbidden(g.options.Needs, t.Scopes)
	}
	keepToken(r.Context(), t, text)
	return t, nil
}

// Presented returns the token of a request, even if the token is invalid. So a caller that learns
// that a token is invalid can end sessions and tokens that were obtained with it. Without a token,
// Presented returns the zero Secret.
func (g *Guard) Presented(r *http.Request) oauth.Secret {
	_, text, refused := g.credentials(r)
	if refused != nil {
		return oauth.Secret{}
	}
	return oauth.NewSecret(text)
}

// credentials returns the token of a request and its scheme.
func (g *Guard) credentials(r *http.Request) (scheme, token string, refused *Refusal) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", "", g.refuse(http.StatusBadRequest, "invalid_request", errors.New("two Authorization headers"))
	}
	scheme, token, _ = strings.Cut(strings.Join(values, ""), " ")
	token = strings.TrimSpace(token)
	isBound := strings.EqualFold(scheme, schemeProof)
	switch {
	case !isBound && !strings.EqualFold(scheme, schemeBearer) || token == "":
		return "", "", g.refuse(http.StatusUnauthorized, "", errors.New("no token"))
	case len(token) > maxToken || strings.ContainsAny(token, " \t,\""):
		return "", "", g.refuse(http.StatusUnauthorized, "invalid_token", errors.New("it is not a token"))
	}
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", "", g.refuse(http.StatusBadRequest, "invalid_request", errors.New("a token in the URL"))
	}
	if isBound {
		return schemeProof, token, nil
	}
	return schemeBearer, token, nil
}

// lacking returns the elements of needs that are not in has.
func lacking(has, needs []string) (missing []string) {
	for _, scope := range needs {
		if !slices.Contains(has, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
