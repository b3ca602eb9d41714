package authserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// providerTime is the time limit of all requests to a provider for one login.
const providerTime = 15 * time.Second

// A Provider is an OpenID provider where users log in, instead of on a page of this server. It is
// safe for concurrent use.
type Provider struct {
	// Issuer is the provider's issuer identifier. ClientID and Secret are this server's
	// registration at the provider. Its redirect URI is /oauth/callback at this server's origin.
	Issuer, ClientID, Secret string
	// Domains lists domains of e-mail addresses whose owners may log in. The provider must have
	// verified the address. It becomes the user's name.
	Domains []string
	// Subjects lists further users who may log in, by the provider's identifier (sub). It becomes
	// the user's name.
	Subjects []string
	// Scopes are given to every user. Groups maps a group to the additional scopes of its users.
	Scopes []string
	Groups map[string][]string
	// AllGroups keeps all groups of a user, which are those of the principal, and not only those that
	// give scopes.
	AllGroups bool
	// SubjectClaim, EmailClaim and GroupsClaim are the names of claims; the defaults are sub, email
	// and groups.
	SubjectClaim, EmailClaim, GroupsClaim string
	// HTTP sends the requests to the provider.
	HTTP *http.Client

	mu    sync.Mutex
	party *party // nil until the provider's metadata is read
}

// find returns the user with this name and the scopes that the groups give. It returns [ErrNoUser] if the
// user may not log in.
func (p *Provider) find(name string, groups []string) (User, error) {
	at := strings.LastIndex(name, "@")
	isOfDomain := at >= 0 && slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, name[at+1:]) })
	if !isOfDomain && !slices.Contains(p.Subjects, name) {
		return User{}, ErrNoUser
	}
	u := User{Name: name, Scopes: slices.Clone(p.Scopes), groups: groups}
	for _, group := range groups {
		u.Scopes = append(u.Scopes, p.Groups[group]...)
	}
	return u, nil
}

type nonce struct{}

// A visit describes one redirect to a provider and back. It is sealed and sent as the state
// parameter.
type visit struct {
	Request  request `json:"request"`
	Nonce    string  `json:"nonce"`
	Verifier string  `json:"verifier"`
}

const visitContext = "authserver visit"

// askProvider redirects the browser to the provider.
func (s *Server) askProvider(w http.ResponseWriter, r *http.Request, q *request) {
	ctx, cancel := context.WithTimeout(r.Context(), providerTime)
	defer cancel()
	party, err := s.options.Provider.partyFor(ctx, s.options.Issuer+callbackPath)
	if err != nil {
		s.fail(w, r, "ask the provider", err)
		return
	}
	v := visit{Request: *q, Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}
	sealed, err := s.seal(v, visitContext)
	if err != nil {
		s.fail(w, r, "ask the provider", err)
		return
	}
	http.Redirect(w, r, party.page(sealed, &v), http.StatusSeeOther)
}

// providerSays handles the redirect back from the provider.
func (s *Server) providerSays(w http.ResponseWriter, r *http.Request) {
	var v visit
	err := s.open(r.URL.Query().Get("state"), visitContext, &v)
	browser := s.cookie(r, browserCookie)
	if err != nil || s.options.Provider == nil || browser == "" || hash(browser) != v.Request.Browser || !time.Now().Before(v.Request.Until) {
		s.showFault(w, http.StatusBadRequest, errRequest)
		return
	}
	a, err := s.userAtProvider(r, v)
	if err != nil {
		s.record(r.Context(), Event{Kind: EventLogin, Outcome: OutcomeRefused, Client: v.Request.Client, Reason: err.Error()})
	}
	if errors.Is(err, ErrNoUser) {
		s.options.Logger.WarnContext(r.Context(), "login refused", "error", err)
		s.showFault(w, http.StatusForbidden, errors.New("you may not log in here: ask the operator of this server"))
		return
	}
	if err != nil {
		s.options.Logger.WarnContext(r.Context(), "login failed", "error", err)
		s.showFault(w, http.StatusBadGateway, errors.New("the login at "+s.options.Provider.Issuer+" failed; the log of this server has the reason"))
		return
	}
	v.Request.Prompt = slices.DeleteFunc(v.Request.Prompt, func(p string) bool { return p == oidc.PromptLogin })
	sealed, err := s.seal(v.Request, requestContext)
	if err != nil {
		s.fail(w, r, "go on to the consent", err)
		return
	}
	s.enter(w, r, a, &v.Request, sealed)
}

// userAtProvider returns a new login for the user that the provider names.
func (s *Server) userAtProvider(r *http.Request, v visit) (*authentication, error) {
	p, q := s.options.Provider, r.URL.Query()
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), nonce{}, v.Nonce), providerTime)
	defer cancel()
	party, err := p.partyFor(ctx, s.options.Issuer+callbackPath)
	if err != nil {
		return nil, err
	}
	switch fault := q.Get("error"); {
	case q.Has("iss") && q.Get("iss") != party.issuer: // compared byte for byte (RFC 9207 section 2.4)
		return nil, fmt.Errorf("%.200q sent the browser back, not %s", q.Get("iss"), p.Issuer)
	case fault != "":
		return nil, fmt.Errorf("%s says %.200q", p.Issuer, fault+" "+q.Get("error_description"))
	}
	got, err := p.redeem(ctx, party, q.Get("code"), v.Verifier)
	if err != nil {
		return nil, err
	}
	a := &authentication{User: got.name, Subject: got.subject, Session: got.session, Groups: got.groups}
	if got.refresh != "" {
		a.Refresh = s.ring.Seal([]byte(got.refresh), []byte(loginContext))
	}
	return a, nil
}
