package up

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
	"github.com/prometheus/client_golang/prometheus"
)

// MetadataPath is the path of the metadata that lists the authorization servers (RFC 9728). The
// path of the endpoint follows it.
const MetadataPath = "/.well-known/oauth-protected-resource"

// KnowsCallers reports whether callers authenticate. Callers may then be different users, and no
// user may see the messages of another.
func (f *Front) KnowsCallers() bool { return len(f.Auth) > 0 || f.TLS.ClientCA != "" }

// takesTokens reports whether clients can authenticate by tokens.
func (f *Front) takesTokens() bool {
	return slices.ContainsFunc(f.Auth, func(way string) bool { return way != settings.AuthKeys })
}

// originsOf returns the origins under which clients may reach an address. Messages show the first
// one.
func (f *Front) originsOf(addr net.Addr, secure bool) ([]string, error) {
	if f.PublicURL != "" {
		return []string{f.PublicURL}, nil
	}
	at, is := addr.(*net.TCPAddr)
	if _, all := WildcardAddr(addr); !is || all {
		return nil, cli.Usagef("--auth at %s needs --public-url, the address that clients use", addr)
	}
	origin := f.originAt(addr, secure)
	all := []string{origin}
	if at.IP.IsLoopback() {
		scheme, _, _ := strings.Cut(origin, "://")
		for _, host := range []string{"localhost", "127.0.0.1", "[::1]"} {
			all = append(all, fmt.Sprintf("%s://%s:%d", scheme, host, at.Port))
		}
	}
	return all, nil
}

// MaxUnnamed is the largest number of printed scopes that the settings do not contain.
const MaxUnnamed = 10

// An Access authenticates the requests to the endpoints of an address, by keys or tokens.
type Access struct {
	Origins  []string                                                      // origins under which clients may reach the address; messages show the first one
	Keys     func(r *http.Request, profile string) (*mcp.Principal, error) // authenticates requests by key; nil if keys are not accepted
	keys     *apikey.Keys                                                  // keys of Keys; may be nil
	Verifier auth.Verifier                                                 // checks tokens; nil if tokens are not accepted
	Issuers  []string
	team     http.Handler         // serves the team's page; nil without local
	local    *authserver.Server   // authorization server of --auth local; nil without it
	provider *authserver.Provider // confirms the users of local; nil without one
	Needs    []string
	Scopes   []string
	proofs   auth.Proofs
	once     func(ctx context.Context, proof string, keep time.Duration) (isNew bool, err error) // as in [auth.Options]; nil without a shared store
	secret   []byte                                                                              // as in [auth.Options]; nil without a shared store
	Profile  func(name string) mcp.Handler
	Refused  RefusalCounter
	logins   *prometheus.CounterVec // logins at the authorization server of this address, by outcome
	unknown  []string               // scopes that the settings do not contain, each with its owner
	from     string                 // file of the settings; empty if there is none
	unheldBy []string               // lists callers that roles name and that cannot come, each with the role

	Exchanges *Exchanges        // token exchanges for callers; nil if there are none
	log       func() *audit.Log // returns the audit log, or nil; nil for commands that have none

	mu     sync.Mutex
	Guards map[string]*auth.Guard // guards by resource
}

// openAccess returns the Access for --auth and the settings, or nil if --auth names no way to
// authenticate.
func openAccess(ctx context.Context, a *cli.App, l net.Listener, f Front, profile func(name string) mcp.Handler) (*Access, error) {
	ways := f.Auth
	if len(ways) == 0 {
		return nil, nil
	}
	x := &Access{from: f.from, Refused: RefusalCounter{Log: a.Logger()}, logins: newLogins(), log: f.log, Profile: profile, Needs: f.authorization.Needs, Scopes: f.authorization.All(), proofs: map[string]auth.Proofs{"needed": auth.ProofsNeeded, "nonce": auth.ProofsWithNonce}[f.authorization.Proofs], Guards: map[string]*auth.Guard{}}
	if g := a.Launch.Shared(); g != nil {
		x.once, x.secret = onceAtAll(g), a.Launch.SharedSecret("nonces of proofs")
	}
	var verifiers []auth.Verifier
	_, secure := l.(*Encrypted)
	for _, way := range ways {
		if way == settings.AuthKeys {
			k, err := reach.Keys(ctx, a)
			if err != nil {
				return nil, err
			}
			x.keys, x.Keys = k, actingFor(f.authorization.UserHeader, k.PrincipalAt)
			if all, err := k.All(); err == nil {
				var names []string
				for _, key := range all {
					x.Unnamed(key.Scopes, "the key of "+key.User)
					names = append(names, key.User)
				}
				x.unheld(f.roles, settings.KeyCaller, names)
			}
			continue
		}
		if x.Origins == nil {
			var err error
			if x.Origins, err = f.originsOf(l.Addr(), secure); err != nil {
				return nil, err
			}
		}
		v, issuer, err := verifier(ctx, a, way, f, x)
		if err != nil {
			return nil, err
		}
		verifiers, x.Issuers = append(verifiers, v), append(x.Issuers, issuer)
	}
	switch len(verifiers) {
	case 0:
	case 1:
		x.Verifier = verifiers[0]
	default:
		x.Verifier = auth.Any(verifiers...)
	}
	for kind, has := range map[string]bool{settings.KeyCaller: x.Keys != nil, settings.UserCaller: x.Verifier != nil, settings.ClientCaller: false,
		settings.GroupCaller: x.Verifier != nil && (len(verifiers) > 1 || x.local == nil || f.authorization.Provider != nil)} {
		if !has {
			x.unheld(f.roles, kind, nil)
		}
	}
	slices.Sort(x.unheldBy)
	return x, nil
}

// onceAtAll returns a function that reports whether a proof was not used before at any replica.
func onceAtAll(g *replicas.Group) func(ctx context.Context, proof string, keep time.Duration) (isNew bool, err error) {
	return func(ctx context.Context, proof string, keep time.Duration) (bool, error) {
		_, err := g.CompareAndSwap(ctx, "proofs/"+proof, "", []byte("{}"), state.Write{TTL: keep})
		if errors.Is(err, state.ErrConflict) {
			return false, nil
		}
		return err == nil, err
	}
}

// verifier returns the check for tokens of one authorization server: the one in this process, or
// the one at the URL way.
func verifier(ctx context.Context, a *cli.App, way string, f Front, x *Access) (v auth.Verifier, issuer string, err error) {
	if way == settings.AuthLocal {
		x.local, err = authorizationServer(ctx, a, f, x)
		return x.local, x.Origins[0], err
	}
	client := GuardedFor(way, f.authorization.Hosts)
	registered := f.authorization.Issuers[way]
	if registered.ClientID == "" {
		return auth.JWT(auth.JWTOptions{Issuer: way, Groups: registered.Claims.Groups, HTTP: client}), way, nil
	}
	secret, err := registered.Secret(f.folder, a.Getenv)
	if err != nil {
		return nil, "", fmt.Errorf("authorization.issuers.%s: %w", way, err)
	}
	return auth.Introspection(auth.IntrospectionOptions{Issuer: way, URL: registered.Introspection, ClientID: registered.ClientID, Secret: secret, Groups: registered.Claims.Groups, HTTP: client}), way, nil
}

// GuardedFor returns a client for requests to an authorization server that the operator named. The
// server and the given hosts may have private addresses.
func GuardedFor(issuer string, hosts []string) *http.Client {
	own := ""
	if u, err := url.Parse(issuer); err == nil {
		own = u.Hostname()
	}
	return oauth.Guarded(func(host string) bool {
		return own != "" && strings.EqualFold(host, own) || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
	})
}

// authorizationServer returns the authorization server for --auth local.
func authorizationServer(ctx context.Context, a *cli.App, f Front, x *Access) (*authserver.Server, error) {
	if err := checkLocal(x.Origins[0]); err != nil {
		return nil, err
	}
	store, key, err := a.Launch.OpenLogins(ctx, true)
	if err != nil {
		return nil, err
	}
	o := authserver.Options{
		Issuer: x.Origins[0], Resource: x.Origins[0] + launch.EndpointPath, Serves: x.serves, Scopes: x.Scopes, Needs: x.Needs, Store: store, Key: key,
		TokenTime: f.authorization.TokenTime, LoginTime: f.authorization.LoginTime, Hosts: f.AllowedHosts(), Origins: f.Origins, Documents: GuardedFor("", f.authorization.Hosts), RegisteredOnly: f.authorization.RegisteredOnly,
		Proofs: x.proofs, Registrations: f.limits.Registrations, FailedLogins: f.limits.FailedLogins, Logger: a.Logger(), Happened: x.happened, Replicas: a.Launch.Shared(),
	}
	if p := f.authorization.Provider; p != nil {
		secret, err := p.Secret(f.folder, a.Getenv)
		if err != nil {
			return nil, fmt.Errorf("authorization.provider: %w", err)
		}
		o.Provider = &authserver.Provider{
			Issuer: p.Issuer, ClientID: p.ClientID, Secret: secret, Domains: p.Domains, Subjects: p.Subjects, Scopes: p.Scopes, Groups: p.Groups,
			SubjectClaim: p.Claims.Subject, EmailClaim: p.Claims.Email, GroupsClaim: p.Claims.Groups, AllGroups: (&settings.Settings{Roles: f.roles}).GroupRoles(), HTTP: GuardedFor(p.Issuer, f.authorization.Hosts),
		}
		x.provider = o.Provider
		x.Unnamed(p.Scopes, "the provider's users")
		for _, group := range slices.Sorted(maps.Keys(p.Groups)) {
			x.Unnamed(p.Groups[group], "the group "+group)
		}
	} else {
		if o.Users, err = reach.Users(ctx, a); err != nil {
			return nil, err
		}
		all, err := o.Users.All()
		var names []string
		for _, user := range all {
			x.Unnamed(user.Scopes, user.Name)
			names = append(names, user.Name)
		}
		if !slices.ContainsFunc(f.Auth, func(way string) bool { return way != settings.AuthKeys && way != settings.AuthLocal }) { // else another issuer may have more users
			x.unheld(f.roles, settings.UserCaller, names)
		}
		if err == nil && len(all) == 0 {
			a.Screen.Printf("junction: there are no users yet; junction user add NAME adds a user\n")
		}
	}
	return authserver.New(o)
}

// checkLocal returns an error if passwords and tokens must not be sent to an origin.
func checkLocal(origin string) error {
	at, err := url.Parse(origin)
	if err == nil && at.Scheme != "https" && !outside.IsHere(at.Hostname()) {
		err = cli.Usagef("--auth local sends passwords and tokens, so it needs https, not %s: give --tls-cert, or --public-url with the https address of a proxy", origin)
	}
	return err
}

// Unnamed records the given scopes that the settings do not contain, for SayUnnamed. whose
// describes the owner of the scopes.
func (x *Access) Unnamed(scopes []string, whose string) {
	for _, scope := range scopes {
		if !slices.Contains(x.Scopes, scope) {
			x.unknown = append(x.unknown, fmt.Sprintf("%q (%s)", scope, whose))
		}
	}
}

// unheld adds those callers of a kind that roles name, and that are not among the existing ones, to
// the list that SayUnnamed prints.
func (x *Access) unheld(roles map[string]settings.Role, kind string, existing []string) {
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for _, who := range roles[role].Who {
			if k, name, _ := settings.Caller(who); k == kind && !slices.Contains(existing, name) {
				x.unheldBy = append(x.unheldBy, fmt.Sprintf("%s (role %s)", who, role))
			}
		}
	}
}

// SayUnnamed prints at most [MaxUnnamed] scopes that the settings do not contain.
func SayUnnamed(a *cli.App, x *Access) {
	if x == nil {
		return
	}
	say := func(format string, all []string) {
		if len(all) == 0 {
			return
		}
		text, more := strings.Join(all[:min(len(all), MaxUnnamed)], ", "), ""
		if n := len(all) - MaxUnnamed; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		a.Screen.Printf(format, plaintext.Line(text, MaxUnnamed*100)+more)
	}
	say("junction: needs, tools and scopes of authorization do not name %s: logins do not get these scopes, and only rules see those of keys\n", x.unknown)
	in := "roles name"
	if x.from != "" {
		in = strings.ReplaceAll(a.Short(x.from), "%", "%%") + ": " + in
	}
	say("junction: "+in+" callers that do not exist yet, or that --auth does not let in: %s\n", x.unheldBy)
}

// serves reports whether a URL is the URL of an endpoint.
func (x *Access) serves(resource string) bool {
	u, err := url.Parse(resource)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	return slices.ContainsFunc(x.Origins, func(origin string) bool {
		own, err := url.Parse(origin)
		return err == nil && outside.SameOrigin(u, own) && x.has(u.EscapedPath())
	})
}

// has reports whether a path is the path of an endpoint.
func (x *Access) has(path string) bool {
	if path == launch.EndpointPath || path == OlderPath {
		return true
	}
	base, name, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return found && name != "" && ("/"+base == launch.EndpointPath || "/"+base == OlderPath) && x.Profile != nil && x.Profile(name) != nil
}

// guard returns the guard that checks tokens for the endpoint at a path. The origin of the guard's
// resource is the one that has the host of the request, or else the first one.
func (x *Access) guard(host, path string) (*auth.Guard, error) {
	origin := x.Origins[0]
	for _, other := range x.Origins {
		if _, name, _ := strings.Cut(other, "://"); strings.EqualFold(name, host) {
			origin = other
			break
		}
	}
	resource := origin + path
	x.mu.Lock()
	defer x.mu.Unlock()
	if g := x.Guards[resource]; g != nil {
		return g, nil
	}
	g, err := auth.New(auth.Options{Resource: resource, Servers: x.Issuers, Verifier: x.Verifier, Name: "Junction", Scopes: x.Scopes, Needs: x.Needs, Proofs: x.proofs, Once: x.once, Secret: x.secret})
	if err == nil {
		x.Guards[resource] = g
	}
	return g, err
}

// forgetTokens makes the guards check all tokens again, as a login may have ended. It does nothing for
// a nil Access.
func (x *Access) forgetTokens() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.local != nil {
		x.local.Forget()
	}
	for _, g := range x.Guards {
		g.Forget()
	}
}

// At returns functions for the endpoint at a path. principal authenticates requests. challenge
// returns the WWW-Authenticate header for a caller who lacks scopes.
func (x *Access) At(path string) (principal func(*http.Request) (*mcp.Principal, error), challenge func(needs []string) string) {
	letIn, challenge := x.letIn(path)
	return func(r *http.Request) (*mcp.Principal, error) {
		p, err := letIn(r)
		if err != nil {
			x.refused(r, err)
		}
		return p, err
	}, challenge
}

// refused counts a request with an invalid key or token, and writes it to the audit log.
func (x *Access) refused(r *http.Request, why error) {
	if !x.Refused.Add(r, why) || x.log == nil || x.log() == nil {
		return
	}
	host := hostOf(r.RemoteAddr)
	_ = x.log().AdminByAnyone(&audit.Record{Event: audit.EventLogin, Outcome: authserver.OutcomeRefused, Rule: "key or token", Reason: redact.Text(why.Error(), cli.MaxReason)}, host) // the log reports why it cannot be written
}

// saveUses writes when keys were used, within usesTime, and logs an error. With now, it does not wait
// until that is due.
func (x *Access) saveUses(ctx context.Context, now bool) {
	if x == nil || x.keys == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usesTime)
	defer cancel()
	if err := x.keys.SaveUses(ctx, now); err != nil {
		x.Refused.Log.Warn("junction: it is not recorded when keys were used", "error", err)
	}
}

// happened writes an event of the authorization server to the audit log.
// A login that ended ends for all endpoints at once.
func (x *Access) happened(_ context.Context, e authserver.Event) (err error) {
	if e.Kind == authserver.EventLogin {
		defer func() {
			outcome := e.Outcome
			if err != nil { // a login that cannot be logged is refused
				outcome = authserver.OutcomeRefused
			}
			x.logins.WithLabelValues(outcome).Inc()
		}()
	}
	if e.Kind == authserver.EventLogout || e.Kind == authserver.EventRevoke {
		x.forgetTokens()
	}
	if x.log == nil || x.log() == nil {
		return nil
	}
	r := &audit.Record{Event: e.Kind, Outcome: e.Outcome, Principal: e.User, Issuer: x.Origins[0], Client: e.Client, Name: e.Name, Scopes: e.Scopes, Address: e.Address, Reason: redact.Text(e.Reason, cli.MaxReason)}
	if e.Kind == authserver.EventClient || e.Outcome == authserver.OutcomeRefused {
		return x.log().AdminByAnyone(r, e.Address)
	}
	return x.log().Admin(r)
}

func (x *Access) letIn(path string) (principal func(*http.Request) (*mcp.Principal, error), challenge func(needs []string) string) {
	_, profile, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	byKey := func(r *http.Request) (*mcp.Principal, error) { return x.Keys(r, profile) }
	if x.Verifier == nil {
		return byKey, nil
	}
	byToken := func(r *http.Request) (*mcp.Principal, error) {
		g, err := x.guard(r.Host, path)
		if err != nil {
			return nil, err
		}
		p, err := g.Principal(r)
		if errors.Is(err, auth.ErrInactive) {
			x.Exchanges.end(g.Presented(r))
		}
		return p, err
	}
	challenge = func(needs []string) string {
		g, err := x.guard("", path)
		if err != nil {
			return "Bearer"
		}
		return g.Challenge(needs)
	}
	if x.Keys == nil {
		return byToken, challenge
	}
	return func(r *http.Request) (*mcp.Principal, error) {
		p, wrong := byKey(r)
		if wrong == nil || errors.Is(wrong, apikey.ErrUnavailable) { // a client whose key cannot be checked keeps the key
			return p, wrong
		}
		p, err := byToken(r)
		if err != nil && apikey.Given(r) {
			err = &refusedKey{err, wrong}
		}
		return p, err
	}, challenge
}

// A refusedKey is the refusal of a request with a key, where tokens are accepted, too. The response
// is that of the token, which says where to log in. The reason is that of the key.
type refusedKey struct{ response, reason error }

// Error returns the reason.
func (k *refusedKey) Error() string { return k.reason.Error() }

// Unwrap returns the error that is also the response, and the reason.
func (k *refusedKey) Unwrap() []error { return []error{k.response, k.reason} }

// serve handles requests for authorization metadata and for logins. It reports whether the request
// was one of these.
func (x *Access) serve(w http.ResponseWriter, r *http.Request) bool {
	path := pathOf(r)
	if x.local != nil && x.local.Serves(path) {
		x.local.ServeHTTP(w, r)
		return true
	}
	if x.team != nil && (path == teamPath || strings.HasPrefix(path, teamPath+"/")) {
		x.team.ServeHTTP(w, r)
		return true
	}
	about, found := strings.CutPrefix(path, MetadataPath)
	if !found || x.Verifier == nil {
		return false
	}
	if about == "" {
		about = launch.EndpointPath
	}
	if !x.has(about) {
		return false
	}
	g, err := x.guard(r.Host, about)
	if err != nil {
		return false
	}
	g.Metadata().ServeHTTP(w, r)
	return true
}

// newLogins returns the metric of logins.
func newLogins() *prometheus.CounterVec {
	logins := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_logins_total", Help: "Logins of users with --auth local, by password or at an OpenID provider, by outcome."}, []string{"outcome"})
	for _, outcome := range []string{authserver.OutcomeOK, authserver.OutcomeRefused} {
		logins.WithLabelValues(outcome)
	}
	return logins
}

// count registers metrics of logins and refused requests. It does nothing for a nil Access.
func (x *Access) count(registry prometheus.Registerer) error {
	if x == nil {
		return nil
	}
	if x.local != nil {
		if err := registry.Register(x.logins); err != nil {
			return err
		}
	}
	return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "junction_refused_logins_total", Help: "Requests with an invalid key or token."}, func() float64 {
		x.Refused.Mu.Lock()
		defer x.Refused.Mu.Unlock()
		return float64(x.Refused.All)
	}))
}
