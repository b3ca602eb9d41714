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
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// defaultTokenTime is the default lifetime of an access token.
	defaultTokenTime = 15 * time.Minute
	// maxForm is the largest size of a request body in bytes.
	maxForm = 64 << 10
)

// The paths of a Server. Its metadata is at the well-known paths.
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
	logoutPath    = prefix + "backchannel-logout"

	metadataPath = "/.well-known/oauth-authorization-server"
	openIDPath   = "/.well-known/openid-configuration"
)

// Options configure a Server.
type Options struct {
	// Issuer is the origin where clients and browsers reach the server, such as
	// https://tools.example.com.
	Issuer string
	// Name is the name of the protected resource on pages; the default is the issuer's host.
	Name string
	// Resource is the URL of the protected resource, for clients that do not name one.
	Resource string
	// Serves reports whether tokens may be for another resource, such as a profile of a gateway. If
	// it is nil, they may not.
	Serves func(resource string) bool
	// Scopes lists the scopes that clients may request. Users may have fewer.
	Scopes []string
	// Needs lists the scopes that every request to the resource needs. A client that requests no
	// scopes gets these.
	Needs []string
	// Users are the users who may log in. Either Users or Provider must be set.
	Users *Users
	// Provider is the provider where users log in, instead of on a page of this server.
	Provider *Provider
	// Store stores logins, clients and keys. Secrets in it are sealed with Key, which has at least
	// 32 random bytes.
	Store state.Store
	Key   []byte
	// TokenTime is the lifetime of an access token; the default is 15 minutes.
	TokenTime time.Duration
	// LoginTime is the lifetime of a login, however often its tokens are renewed; the default is 90
	// days. A login whose provider cannot confirm it later ends after 12 hours at most.
	LoginTime time.Duration
	// Hosts lists host names of the server, and Origins the origins of web pages that may request
	// tokens. Both are as in streamable.Options.
	Hosts, Origins []string
	// Documents fetches the documents and keys that clients publish; the default is [oauth.Guarded]
	// without exceptions.
	Documents *http.Client
	// RegisteredOnly makes the server refuse clients that have a document instead of a
	// registration. Set it for a server that cannot fetch documents.
	RegisteredOnly bool
	// Proofs decides whether clients must bind their tokens to a key (DPoP), and whether proofs
	// must contain nonces of this server. Use the same value as in the [auth.Guard] of the
	// resource.
	Proofs auth.Proofs
	// Registrations is the number of clients that may register themselves in an hour, a tenth of
	// them from one address; the default is 300.
	Registrations int
	// FailedLogins is the number of failed logins of a user from one address in 15 minutes, after
	// which further ones wait; the default is 10. For all users of an address, and for all addresses
	// of a user, it is ten times as high.
	FailedLogins int
	// Happened records an event, such as in an audit log. A login and a consent are recorded before
	// they take effect, and an error prevents them. It may be nil.
	Happened func(ctx context.Context, e Event) error
	// Replicas, if not nil, are the replicas of the server. Store is then theirs. Limits of failed
	// logins and of registrations count at all of them. A login that ends at one replica ends at all
	// within two seconds. While the store is away, a replica accepts tokens until they expire if it
	// has verified tokens of the same login, and refuses all else with 503.
	Replicas *replicas.Group
	// Logger logs logins and errors; the default is [slog.Default].
	Logger *slog.Logger
}

// A Server is an authorization server. It is safe for concurrent use.
type Server struct {
	options   Options
	issuer    *url.URL
	ring      *seal.Ring
	secret    []byte // key of the tokens that protect forms against forgery
	guard     rebinding.Guard
	keys      keys
	documents documents[*client]
	keySets   documents[jws.Keys] // published keys of clients
	attempts  attempts
	uses      attempts // uses of one-time values
	nonces    jws.Nonces
	verified  verified
	hashing   *share.Turns // turns to check a password
	slow      *share.Turns // turns of logins that waited for slowTime, before they take one of hashing
	waiting   waiting
	logouts   *share.Turns // turns to check a logout token
	encoder   issuing
	mux       *http.ServeMux
}

// New returns a Server. The error names the missing or invalid option.
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
		return nil, errors.New("authserver: Resource is missing: the URL of the protected server")
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
			return nil, errors.New("authserver: Provider: expected Domains or Subjects, because without them no user may log in")
		}
	}
	o.Name = cmp.Or(o.Name, u.Host)
	o.Registrations, o.FailedLogins = cmp.Or(o.Registrations, defaultRegistrations), cmp.Or(o.FailedLogins, defaultFailedLogins)
	o.TokenTime = cmp.Or(o.TokenTime, defaultTokenTime)
	if o.Documents == nil {
		o.Documents = oauth.Guarded(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{options: o, issuer: u, guard: rebinding.Guard{Hosts: append(slices.Clone(o.Hosts), u.Hostname()), Origins: o.Origins},
		hashing: share.NewTurns(maxHashing), slow: share.NewTurns(maxHashing - 1), logouts: share.NewTurns(maxCheckedLogouts), waiting: waiting{places: share.Each(maxWaiting, maxWaitingFrom), slots: map[string]bool{}}}
	if s.ring, err = seal.NewRing(o.Key); err != nil {
		return nil, fmt.Errorf("authserver: Key: %w", err)
	}
	s.secret = s.mac(o.Key, "forms")
	s.nonces = jws.Nonces{Secret: s.mac(o.Key, "nonces")}
	s.route()
	return s, nil
}

// mac returns a hash of parts that only a holder of the key can make.
func (s *Server) mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return h.Sum(nil)
}

// hash returns the name under which a secret is stored.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// load decodes the value of a key in the store into v. The error is [state.ErrNotFound] if the key
// is missing.
func (s *Server) load(ctx context.Context, key string, v any) (state.Version, error) {
	e, err := s.options.Store.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(e.Value, v)
	}
	return e.Version, err
}

// swap stores v under a key for ttl, if the current version is old.
func (s *Server) swap(ctx context.Context, key string, old state.Version, v any, ttl time.Duration) (state.Version, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.options.Store.CompareAndSwap(ctx, key, old, text, state.Write{TTL: ttl})
}

// seal encrypts the JSON of v. [Server.open] needs the same purpose to decrypt it.
func (s *Server) seal(v any, purpose string) (string, error) {
	text, err := json.Marshal(v)
	return s.ring.Seal(text, []byte(purpose)), err
}

// open decodes a text of [Server.seal] into v.
func (s *Server) open(sealed, purpose string, v any) error {
	text, err := s.ring.Open(sealed, []byte(purpose))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return err
}

// route registers the handlers of all paths.
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
	s.mux.HandleFunc("POST "+logoutPath, s.backChannelLogout)
	s.mux.HandleFunc("GET "+metadataPath, s.metadata)
	s.mux.HandleFunc("GET "+openIDPath, s.metadata)
}

// withoutEmpty removes parameters without a value (RFC 6749 section 3.1). Otherwise package op
// reads scope= in a token renewal as a scope with an empty name, and the client loses its login.
func withoutEmpty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil { // package op would ignore this error
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
	// Clients use these paths. All other paths are for browsers with a user's cookies.
	isForClients := slices.Contains([]string{tokenPath, revokePath, keysPath, registerPath, metadataPath, openIDPath}, r.URL.Path)
	if origin := r.Header.Get("Origin"); origin != "" && isForClients {
		h.Set("Access-Control-Allow-Origin", origin) // the guard checked the origin, and the request has no cookies
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		h.Set("Access-Control-Expose-Headers", headerNonce)
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if s.refuseAway(w, r) {
		return
	}
	if s.options.Proofs == auth.ProofsWithNonce && r.URL.Path == tokenPath {
		h.Set(headerNonce, s.nonces.Now(time.Now()))
	}
	r = withAddress(r.WithContext(share.With(r.Context(), share.Site(r.RemoteAddr))))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.mux.ServeHTTP(w, r)
}

// An issuing encoder adds the issuer to responses that are sent by redirect (RFC 9207).
type issuing struct {
	encoder interface {
		Encode(from any, to map[string][]string) error
	}
	issuer string
}

// Encode implements the interface of package op.
func (i issuing) Encode(from any, to map[string][]string) error {
	to["iss"] = []string{i.issuer}
	return i.encoder.Encode(from, to)
}
