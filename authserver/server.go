package authserver

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jws"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/state"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// defaultTokenTime is for how long an access token holds.
	defaultTokenTime = 15 * time.Minute
	// maxForm bounds the body of a request, in bytes.
	maxForm = 64 << 10
)

// The paths of a Server. Its metadata is at the well-known ones.
const (
	prefix        = "/oauth/"
	authorizePath = prefix + "authorize"
	tokenPath     = prefix + "token"
	revokePath    = prefix + "revoke"
	keysPath      = prefix + "keys"
	registerPath  = prefix + "register"
	loginPath     = prefix + "login"
	consentPath   = prefix + "consent"
	callbackPath  = prefix + "callback"

	metadataPath = "/.well-known/oauth-authorization-server"
	openIDPath   = "/.well-known/openid-configuration"
)

// Options say what a Server gives tokens for, and to whom.
type Options struct {
	// Issuer is the origin at which clients and browsers reach the server, such as https://tools.example.com.
	Issuer string
	// Name is what the pages call what is protected; default the issuer's host.
	Name string
	// Resource is the URL of what is protected, for clients that do not say which resource they want.
	Resource string
	// Serves reports whether tokens may be for another resource, such as a profile of a gateway; default none.
	Serves func(resource string) bool
	// Scopes are those that clients may ask for. Users may have fewer.
	Scopes []string
	// Needs are the scopes without which nothing can be done. Who asks for none gets these.
	Needs []string
	// Users are those who may log in. There are either these or a Provider.
	Users *Users
	// Provider is where users log in, in place of a page of this server.
	Provider *Provider
	// Store keeps logins, clients and keys; what is secret of them is sealed with Key, of 32 random bytes or more.
	Store state.Store
	Key   []byte
	// TokenTime is for how long an access token holds; default 15 minutes.
	TokenTime time.Duration
	// LoginTime is how old a login gets at most, however often its tokens are renewed; default 90 days. One at a provider that
	// cannot be asked about it again ends after 12 hours at the latest.
	LoginTime time.Duration
	// Hosts are names under which the server may be reached, and Origins those of web pages that may ask for tokens, as
	// in streamable.Options.
	Hosts, Origins []string
	// Documents fetches what clients publish about themselves; default [oauth.Guarded] without exceptions.
	Documents *http.Client
	// RegisteredOnly takes no clients that publish something about themselves: they register instead. It is for a server
	// that cannot reach what they publish.
	RegisteredOnly bool
	// Proofs says whether clients have to bind their tokens to a key (DPoP), and its proofs to hold nonces of this server,
	// as that of the [auth.Guard] of the resource does.
	Proofs auth.Proofs
	// Logger gets logins and what went wrong; default [slog.Default].
	Logger *slog.Logger
}

// A Server is an authorization server. It is safe for concurrent use.
type Server struct {
	options   Options
	issuer    *url.URL
	ring      *seal.Ring
	secret    []byte // of tokens against forged forms
	guard     rebinding.Guard
	keys      keys
	documents documents[*client]
	keySets   documents[jws.Keys] // of clients
	attempts  attempts
	uses      attempts // of what is used once
	nonces    jws.Nonces
	hashing   *share.Turns // to check a password
	slow      *share.Turns // and before that, after too many failed logins
	waiting   waiting
	encoder   issuing
	mux       *http.ServeMux
}

// New returns a Server. The error says what is missing in the options.
func New(o Options) (*Server, error) {
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || o.Issuer != u.Scheme+"://"+u.Host:
		return nil, fmt.Errorf("authserver: Issuer: expected an origin such as https://tools.example.com, got %.200q", o.Issuer)
	case o.Store == nil:
		return nil, errors.New("authserver: Store is missing")
	case (o.Users == nil) == (o.Provider == nil):
		return nil, errors.New("authserver: expected either Users or a Provider")
	case o.Resource == "":
		return nil, errors.New("authserver: Resource is missing: the URL of what is protected")
	case len(o.Key) < seal.KeySize:
		return nil, fmt.Errorf("authserver: Key: expected %d random bytes, got %d", seal.KeySize, len(o.Key))
	}
	if p := o.Provider; p != nil {
		switch {
		case p.Issuer == "" || p.ClientID == "":
			return nil, errors.New("authserver: Provider: Issuer and ClientID are needed")
		case p.HTTP == nil:
			return nil, errors.New("authserver: Provider: HTTP is missing")
		case len(p.Domains)+len(p.Subjects) == 0:
			return nil, errors.New("authserver: Provider: expected Domains or Subjects: nobody may log in")
		}
	}
	o.Name = cmp.Or(o.Name, u.Host)
	o.TokenTime = cmp.Or(o.TokenTime, defaultTokenTime)
	if o.Documents == nil {
		o.Documents = oauth.Guarded(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{options: o, issuer: u, guard: rebinding.Guard{Hosts: append(slices.Clone(o.Hosts), u.Hostname()), Origins: o.Origins},
		hashing: share.NewTurns(maxHashing), slow: share.NewTurns(maxHashing - 1), waiting: waiting{places: share.Each(maxWaiting, maxWaitingFrom), slots: map[string]bool{}}}
	if s.ring, err = seal.NewRing(o.Key); err != nil {
		return nil, fmt.Errorf("authserver: Key: %w", err)
	}
	s.secret = s.mac(o.Key, "forms")
	s.nonces = jws.Nonces{Secret: s.mac(o.Key, "nonces")}
	s.route()
	return s, nil
}

// mac is a hash of parts that only who has the key can make.
func (s *Server) mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return h.Sum(nil)
}

// hash is the name under which something secret is kept.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// load reads the value of a key of the store into v. The error is [state.ErrNotFound] where there is none.
func (s *Server) load(ctx context.Context, key string, v any) (state.Version, error) {
	e, err := s.options.Store.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(e.Value, v)
	}
	return e.Version, err
}

// swap stores v under a key for a time, in place of the version old.
func (s *Server) swap(ctx context.Context, key string, old state.Version, v any, ttl time.Duration) (state.Version, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.options.Store.CompareAndSwap(ctx, key, old, text, state.Write{TTL: ttl})
}

// seal encrypts v, as JSON, for [Server.open] with the same purpose.
func (s *Server) seal(v any, purpose string) (string, error) {
	text, err := json.Marshal(v)
	return s.ring.Seal(text, []byte(purpose)), err
}

// open reads a text of [Server.seal] into v.
func (s *Server) open(sealed, purpose string, v any) error {
	text, err := s.ring.Open(sealed, []byte(purpose))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return err
}

// route says which path is served by what.
func (s *Server) route() {
	s.encoder = issuing{oidc.NewEncoder(), s.options.Issuer}
	protocol := op.RegisterServer(&endpoints{server: s}, op.Endpoints{
		Authorization: op.NewEndpoint(authorizePath), Token: op.NewEndpoint(tokenPath),
		Revocation: op.NewEndpoint(revokePath), JwksURI: op.NewEndpoint(keysPath),
	}, op.WithServerCORSOptions(nil), op.WithEncoder(s.encoder), op.WithHTTPMiddleware(withoutEmpty))
	s.mux = http.NewServeMux()
	s.mux.Handle("GET "+authorizePath, s.authorize(protocol))
	s.mux.Handle("POST "+authorizePath, s.authorize(protocol))
	s.mux.Handle("POST "+tokenPath, protocol)
	s.mux.Handle("POST "+revokePath, protocol)
	s.mux.Handle("GET "+keysPath, protocol)
	s.mux.HandleFunc("POST "+registerPath, s.register)
	s.mux.HandleFunc("GET "+loginPath, s.showLogin)
	s.mux.HandleFunc("POST "+loginPath, s.login)
	s.mux.HandleFunc("GET "+consentPath, s.showConsent)
	s.mux.HandleFunc("POST "+consentPath, s.consent)
	s.mux.HandleFunc("GET "+callbackPath, s.providerSays)
	s.mux.HandleFunc("GET "+metadataPath, s.metadata)
	s.mux.HandleFunc("GET "+openIDPath, s.metadata)
}

// withoutEmpty takes a parameter without a value as if it was not sent (RFC 6749 section 3.1): package op takes the scope of
// a client that renews its token with scope= for one without a name, and the client loses its login.
func withoutEmpty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil { // package op would not hear of it
			op.WriteError(w, r, oidc.ErrInvalidRequest().WithDescription("the parameters cannot be read").WithParent(err), nil)
			return
		}
		for name, values := range r.Form {
			if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) == 0 {
				delete(r.Form, name)
			} else {
				r.Form[name] = values
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Serves reports whether a path belongs to the server.
func (s *Server) Serves(path string) bool {
	return strings.HasPrefix(path, prefix) || path == metadataPath || path == openIDPath
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := s.guard.Check(r); err != nil {
		s.options.Logger.DebugContext(r.Context(), "request refused", "error", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	// Clients use these paths; the others are for browsers with the cookies of a user.
	isForClients := slices.Contains([]string{tokenPath, revokePath, keysPath, registerPath, metadataPath, openIDPath}, r.URL.Path)
	if origin := r.Header.Get("Origin"); origin != "" && isForClients {
		h.Set("Access-Control-Allow-Origin", origin) // it may be here, and there are no cookies in this
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		h.Set("Access-Control-Expose-Headers", headerNonce)
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if s.options.Proofs == auth.ProofsWithNonce && r.URL.Path == tokenPath {
		h.Set(headerNonce, s.nonces.Now(time.Now()))
	}
	r = r.WithContext(share.With(r.Context(), share.Site(r.RemoteAddr)))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.mux.ServeHTTP(w, r)
}

// An issuing encoder adds the issuer to what goes back to a client by redirect (RFC 9207).
type issuing struct {
	encoder interface {
		Encode(from any, to map[string][]string) error
	}
	issuer string
}

// Encode implements what package op wants of an encoder.
func (i issuing) Encode(from any, to map[string][]string) error {
	to["iss"] = []string{i.issuer}
	return i.encoder.Encode(from, to)
}
