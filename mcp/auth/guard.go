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

// maxToken bounds an access token, in bytes.
const maxToken = 16 << 10

// Options say what a Guard protects, and how.
type Options struct {
	// Resource is the URL of the MCP server as its clients know it, such as https://example.com/mcp. Tokens have to
	// be for it.
	Resource string
	// Servers are the issuers of the authorization servers that give tokens for it; at least one.
	Servers []string
	// Verifier checks tokens.
	Verifier Verifier
	// Name is what people call the server; optional.
	Name string
	// Scopes are those that clients are to ask for when they log in: the metadata and each 401 name them. Needs are always
	// among them. They ask for others where a call that needs them is refused ([Guard.Challenge]).
	Scopes []string
	// Needs are the scopes without which nothing can be done; default none.
	Needs []string
	// Proofs says whether tokens have to be bound to a key (DPoP), and its proofs to hold nonces of this guard.
	Proofs Proofs
}

// Proofs says what a Guard expects of who sends a token (RFC 9449). A token that is bound to a key always needs a
// proof.
type Proofs int

const (
	// ProofsTaken: tokens may be bound to a key.
	ProofsTaken Proofs = iota
	// ProofsNeeded: tokens have to be.
	ProofsNeeded
	// ProofsWithNonce: tokens have to be, and proofs hold a nonce that this guard gave within the last minutes.
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

// New returns a Guard. The error says what is missing in the options.
func New(o Options) (*Guard, error) {
	u, err := url.Parse(o.Resource)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("auth: Resource: expected the URL of the server, such as https://example.com/mcp, got %.200q", o.Resource)
	case len(o.Servers) == 0:
		return nil, errors.New("auth: Servers: expected the issuer of an authorization server, got none")
	case o.Verifier == nil:
		return nil, errors.New("auth: Verifier is missing: such as JWT or Introspection")
	}
	o.Scopes = append(slices.Clone(o.Scopes), lacking(o.Scopes, o.Needs)...)
	g := &Guard{options: o, resource: u, nonces: jws.Nonces{Secret: []byte(rand.Text() + rand.Text())}, now: time.Now}
	g.document, err = json.Marshal(metadata{
		Resource: o.Resource, Servers: o.Servers, Scopes: o.Scopes, Methods: []string{"header"}, Name: o.Name,
		ProofAlgorithms: jws.Names(jws.ProofAlgorithms()), Bound: o.Proofs != ProofsTaken,
	})
	return g, err
}

// metadata is what clients read of a protected resource (RFC 9728 section 2).
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

// MetadataPath is where the metadata has to be served, by [Guard.Metadata].
func (g *Guard) MetadataPath() string {
	return wellKnown + strings.TrimSuffix(g.resource.EscapedPath(), "/")
}

// Metadata serves the metadata by which clients find the authorization servers, to everybody.
func (g *Guard) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*") // it is public
		if r.Method == http.MethodOptions {       // a page asks whether it may send MCP-Protocol-Version
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

// Principal returns who sends a request. It is for streamable.Options and httpsse.Options: where its error says
// that the token does not do, they answer with the challenge that tells clients what to get.
func (g *Guard) Principal(r *http.Request) (*mcp.Principal, error) {
	t, refused := g.check(r)
	if refused != nil {
		return nil, refused
	}
	return &mcp.Principal{Subject: t.Subject, Issuer: t.Issuer, ClientID: t.ClientID, Scopes: t.Scopes}, nil
}

// Challenge is the WWW-Authenticate header for a caller who lacks scopes that a call needs. It is for streamable.Options.
func (g *Guard) Challenge(needs []string) string {
	return g.Forbidden(needs, nil).challenge
}

// Handler returns a handler that serves the metadata, and passes requests on whose token holds: next finds their
// [mcp.Principal] with [PrincipalOf]. It is for handlers other than those of this module.
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

// PrincipalOf is who sends a request that came through [Guard.Handler]; nil for others. It is for
// streamable.Options.Principal of a handler behind one, with a nil error.
func PrincipalOf(ctx context.Context) *mcp.Principal {
	p, _ := ctx.Value(principalKey{}).(*mcp.Principal)
	return p
}

// First returns a function that lets in whom one of several lets in, asked in this order: such as by a key, and then
// by a token. Its error is that of the last.
func First(all ...func(*http.Request) (*mcp.Principal, error)) func(*http.Request) (*mcp.Principal, error) {
	return func(r *http.Request) (p *mcp.Principal, err error) {
		err = errors.New("nobody is let in")
		for _, principal := range all {
			if p, err = principal(r); err == nil {
				return p, nil
			}
		}
		return nil, err
	}
}

// check returns the token of a request that may do something here.
func (g *Guard) check(r *http.Request) (*Token, *Refusal) {
	scheme, text, refused := g.credentials(r)
	if refused != nil {
		return nil, refused
	}
	now := g.now()
	hash := hashOf(text)
	t := g.cache.get(hash, now)
	if t == nil {
		var err error
		t, err = g.options.Verifier.Verify(share.With(r.Context(), share.Key("", "", r.RemoteAddr)), text, g.options.Resource)
		if err == nil {
			err = t.check(g.options, now)
		}
		if err != nil {
			return nil, g.refuseToken(err)
		}
		g.cache.put(hash, t, now)
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
	carry(r.Context(), t, text)
	return t, nil
}

// Presented is the token that a request came with, whether or not it holds: for who learns that it does not, to end what
// was got with it. It is the zero Secret where there is none.
func (g *Guard) Presented(r *http.Request) oauth.Secret {
	_, text, refused := g.credentials(r)
	if refused != nil {
		return oauth.Secret{}
	}
	return oauth.NewSecret(text)
}

// credentials finds the token of a request, and how it is sent.
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
		return "", "", g.refuse(http.StatusUnauthorized, "invalid_token", errors.New("it is no token"))
	}
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", "", g.refuse(http.StatusBadRequest, "invalid_request", errors.New("a token in the URL"))
	}
	if isBound {
		return schemeProof, token, nil
	}
	return schemeBearer, token, nil
}

// lacking are the scopes of some that others do not have.
func lacking(has, needs []string) (missing []string) {
	for _, scope := range needs {
		if !slices.Contains(has, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
