package authserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/client/rp"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// providerTime bounds the requests to a provider for one login.
const providerTime = 15 * time.Second

// A Provider is an OpenID provider at which users log in, in place of a page of this server. It is safe for concurrent
// use.
type Provider struct {
	// Issuer is its name, and ClientID and Secret what this server is registered as there, with the redirect address
	// /oauth/callback at its own origin.
	Issuer, ClientID, Secret string
	// Domains are those of e-mail addresses, which the provider has verified, whose owners may log in. Such a user's
	// name is the address.
	Domains []string
	// Subjects are users who may log in, too, by what the provider calls them (sub), which is then their name.
	Subjects []string
	// Scopes are those that all users have.
	Scopes []string
	// HTTP sends the requests.
	HTTP *http.Client

	mu    sync.Mutex
	party rp.RelyingParty // nil until the provider was asked
}

// check says what is missing.
func (p *Provider) check() error {
	switch {
	case p.Issuer == "" || p.ClientID == "":
		return errors.New("authserver: Provider: Issuer and ClientID are needed")
	case p.HTTP == nil:
		return errors.New("authserver: Provider: HTTP is missing")
	case len(p.Domains)+len(p.Subjects) == 0:
		return errors.New("authserver: Provider: expected Domains or Subjects: nobody may log in")
	}
	return nil
}

// find returns a user by the name, if he may log in.
func (p *Provider) find(name string) (User, error) {
	_, domain, isMail := cutLast(name, "@")
	if isMail && slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) || slices.Contains(p.Subjects, name) {
		return User{Name: name, Scopes: p.Scopes}, nil
	}
	return User{}, ErrNoUser
}

func cutLast(text, at string) (before, after string, found bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(at):], true
}

// relying is the provider as it describes itself. It is asked once it answers.
func (p *Provider) relying(ctx context.Context, callback string) (rp.RelyingParty, error) {
	p.mu.Lock()
	party := p.party
	p.mu.Unlock()
	if party != nil {
		return party, nil
	}
	party, err := rp.NewRelyingPartyOIDC(ctx, p.Issuer, p.ClientID, p.Secret, callback, []string{oidc.ScopeOpenID, oidc.ScopeEmail}, rp.WithHTTPClient(p.HTTP),
		rp.WithVerifierOpts(rp.WithNonce(func(ctx context.Context) string { n, _ := ctx.Value(nonce{}).(string); return n }), rp.WithSupportedSigningAlgorithms("RS256", "ES256", "PS256", "EdDSA")))
	if err != nil {
		return nil, fmt.Errorf("the OpenID provider %s: %w", p.Issuer, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.party = party
	return party, nil
}

type nonce struct{}

// A visit is the way to a provider and back. It travels sealed, as the state.
type visit struct {
	Request  request `json:"request"`
	Nonce    string  `json:"nonce"`
	Verifier string  `json:"verifier"`
}

const visitContext = "authserver visit"

// askProvider sends the browser to the provider.
func (s *Server) askProvider(w http.ResponseWriter, r *http.Request, q *request) {
	ctx, cancel := context.WithTimeout(r.Context(), providerTime)
	defer cancel()
	party, err := s.options.Provider.relying(ctx, s.options.Issuer+callbackPath)
	if err != nil {
		s.fail(w, r, "ask the provider", err)
		return
	}
	v := visit{Request: *q, Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}
	text, err := json.Marshal(v)
	if err != nil {
		s.fail(w, r, "ask the provider", err)
		return
	}
	to := rp.AuthURL(s.ring.Seal(text, []byte(visitContext)), party, rp.WithCodeChallenge(oidc.NewSHACodeChallenge(v.Verifier)), rp.AuthURLOpt(rp.WithURLParam("nonce", v.Nonce)))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// providerSays takes the browser back from the provider.
func (s *Server) providerSays(w http.ResponseWriter, r *http.Request) {
	var v visit
	text, err := s.ring.Open(r.URL.Query().Get("state"), []byte(visitContext))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || s.options.Provider == nil || s.cookie(r, browserCookie) == "" || hash(s.cookie(r, browserCookie)) != v.Request.Browser || !time.Now().Before(v.Request.Until) {
		s.showFault(w, http.StatusBadRequest, errRequest)
		return
	}
	u, err := s.whoIs(r, v)
	if errors.Is(err, ErrNoUser) {
		s.options.Logger.WarnContext(r.Context(), "login refused", "error", err)
		s.showFault(w, http.StatusForbidden, errors.New("you may not log in here: ask whoever runs this server"))
		return
	}
	if err != nil {
		s.options.Logger.WarnContext(r.Context(), "login failed", "error", err)
		s.showFault(w, http.StatusBadGateway, errors.New("the login at "+s.options.Provider.Issuer+" did not work; the log of this server says why"))
		return
	}
	v.Request.Prompt = slices.DeleteFunc(v.Request.Prompt, func(p string) bool { return p == oidc.PromptLogin })
	sealed, err := s.sealRequest(v.Request)
	if err != nil {
		s.fail(w, r, "go on to the consent", err)
		return
	}
	s.enter(w, r, u, sealed)
}

// whoIs is the user of whom the provider speaks.
func (s *Server) whoIs(r *http.Request, v visit) (User, error) {
	p := s.options.Provider
	if fault := r.URL.Query().Get("error"); fault != "" {
		return User{}, fmt.Errorf("%s says %.200q", p.Issuer, fault)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), nonce{}, v.Nonce), providerTime)
	defer cancel()
	party, err := p.relying(ctx, s.options.Issuer+callbackPath)
	if err != nil {
		return User{}, err
	}
	got, err := rp.CodeExchange[*oidc.IDTokenClaims](ctx, r.URL.Query().Get("code"), party, rp.WithCodeVerifier(v.Verifier))
	if err != nil {
		return User{}, fmt.Errorf("%s: %w", p.Issuer, err)
	}
	who := got.IDTokenClaims
	if slices.Contains(p.Subjects, who.Subject) {
		return p.find(who.Subject)
	}
	if !who.EmailVerified {
		return User{}, fmt.Errorf("%w: %.200q has no e-mail address that %s verified", ErrNoUser, who.Subject, p.Issuer)
	}
	u, err := p.find(strings.ToLower(who.Email))
	if err != nil {
		return User{}, fmt.Errorf("%w: %.200q", err, who.Email)
	}
	return u, nil
}
