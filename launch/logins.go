package launch

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/oauthdoc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/sqlite"
)

const (
	MaxKeyFile   = 64 << 10 // bytes of a key
	maxIdleConns = 512      // to one server
)

// OpenLogins opens the store of this user's logins. It creates a missing one only on request.
func (l *Launcher) OpenLogins(create bool) func(ctx context.Context) (state.Store, []byte, error) {
	return func(ctx context.Context) (state.Store, []byte, error) {
		path, err := l.Place.State("state.db")
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !create {
			return nil, nil, state.ErrNotFound
		}
		key, err := loginKey(ctx, l.Place, create)
		if err != nil {
			return nil, nil, err
		}
		s, err := l.OpenState(ctx, path)
		return s, key, err
	}
}

// OpenState opens a state file until the command ends.
func (l *Launcher) OpenState(ctx context.Context, path string) (state.Store, error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	l.AtEnd(s)
	return s, nil
}

// loginStore is where logins are kept; for a command that goes on, and connects often, it is the same each time.
func (l *Launcher) loginStore(create bool) *oauth.Store {
	if s := l.logins[create]; s != nil {
		return s
	}
	return oauth.OpenStore(l.OpenLogins(create))
}

// ShareLogins has all that this command connects to use the same stores.
func (l *Launcher) ShareLogins() {
	l.logins = map[bool]*oauth.Store{false: oauth.OpenStore(l.OpenLogins(false)), true: oauth.OpenStore(l.OpenLogins(true))}
}

// A SeeHTTP wraps a sender of requests for an observer; with authorization, of requests for tokens.
type SeeHTTP = func(next http.RoundTripper, authorization bool) http.RoundTripper

// Tokens returns a client that gets tokens for one server as its entry describes. Without a way to show
// pages to the user, logins that need one fail. see may be nil.
func (l *Launcher) Tokens(entry config.OAuth, visit func(ctx context.Context, redirect string) (*oauth.Visit, error), see SeeHTTP) (*oauth.Client, error) {
	o, err := l.TokenOptions(entry, visit)
	if err != nil {
		return nil, err
	}
	if see != nil {
		if o.HTTP == nil {
			o.HTTP = oauth.Guarded(nil)
		}
		watched := *o.HTTP
		watched.Transport = see(watched.Transport, true)
		o.HTTP = &watched
	}
	return oauth.New(o), nil
}

// TokenOptions returns those of [Launcher.Tokens].
func (l *Launcher) TokenOptions(entry config.OAuth, visit func(ctx context.Context, redirect string) (*oauth.Visit, error)) (oauth.Options, error) {
	o := oauth.Options{Name: "Junction", Visit: visit, Scopes: entry.Scopes, Logger: l.logger()}
	if !l.Renews && renewsApart(&entry) {
		o.Renew = l.renewApart
	}
	o.Store = l.loginStore(visit != nil || entry.Grant != "")
	if len(entry.Hosts) > 0 {
		o.HTTP = oauth.Guarded(func(host string) bool { return slices.Contains(entry.Hosts, strings.ToLower(host)) })
	}
	switch entry.Grant {
	case config.GrantClientCredentials, config.GrantExchange: // of junction up each caller has more: see exchanging
		o.Grant = oauth.ClientCredentials()
	case config.GrantAssertion:
		o.Grant = oauth.Assertion(func(context.Context, oauth.Asked) (string, error) { return readAssertion(&entry) })
	case config.GrantEnterprise:
		p := oauth.IdentityProvider{Issuer: entry.IdentityProvider, Client: identityClient(&entry), HTTP: o.HTTP}
		if p.Identity = l.Identity(&entry, o).Token; entry.AssertionFile != "" {
			p.Identity = func(context.Context) (string, error) { return readAssertion(&entry) }
		}
		o.Grant = oauth.Enterprise(p)
	}
	o.Document = entry.Document
	if entry.CallbackPort > 0 {
		o.Redirect = oauth.LoopbackRedirect(entry.CallbackPort)
	}
	if entry.ClientID != "" {
		r := oauth.Registration{ID: entry.ClientID, Secret: entry.ClientSecret, Redirect: o.Redirect}
		if entry.KeyFile != "" {
			var err error
			if r.Key, err = readKey(&entry); err != nil {
				return o, &config.Problem{Field: "oauth.privateKey", Err: err}
			}
		}
		o.Registered = func(issuer string) (oauth.Registration, bool) {
			return r, entry.Issuer == "" || oauthdoc.Same(issuer, entry.Issuer)
		}
	}
	return o, nil
}

// LogsInAtProvider reports whether a user logs in at their organization's identity provider, and not at each server.
func LogsInAtProvider(entry *config.OAuth) bool {
	return entry.Grant == config.GrantEnterprise && entry.AssertionFile == ""
}

// identityClient returns the client at an organization's identity provider.
func identityClient(entry *config.OAuth) oauth.Registration {
	r := oauth.Registration{ID: entry.IdentityClientID, Secret: entry.IdentityClientSecret}
	if entry.CallbackPort > 0 {
		r.Redirect = oauth.LoopbackRedirect(entry.CallbackPort)
	}
	return r
}

// Identity returns the login at the identity provider that an entry names, with the options of its tokens.
func (l *Launcher) Identity(entry *config.OAuth, o oauth.Options) *oauth.Identity {
	o.Grant, o.Document, o.Scopes, o.Renew = nil, "", nil, nil
	if !l.Renews && entry.IdentityClientSecret == "" && len(entry.Hosts) == 0 {
		o.Renew = l.renewApart
	}
	o.Registered = func(issuer string) (oauth.Registration, bool) {
		return identityClient(entry), oauthdoc.Same(issuer, entry.IdentityProvider)
	}
	return oauth.New(o).Identity(entry.IdentityProvider)
}

// readAssertion reads the assertion of a client or user from its file, each time, because it is replaced
// before it expires.
func readAssertion(entry *config.OAuth) (string, error) {
	data, err := entry.ReadFile(entry.AssertionFile)
	if err != nil {
		return "", &config.Problem{Field: "oauth.assertion", Err: err}
	}
	return strings.TrimSpace(string(data)), nil
}

// readKey reads a private key in PEM: PKCS #8, or PKCS #1 of RSA, or SEC 1.
func readKey(entry *config.OAuth) (crypto.Signer, error) {
	path := entry.KeyFile
	data, err := entry.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s: expected a private key in PEM", path)
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(der []byte) (any, error) {
			var k *rsa.PrivateKey
			k, err := x509.ParsePKCS1PrivateKey(der)
			return k, err
		},
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
	} {
		if key, err := parse(block.Bytes); err == nil {
			if signer, is := key.(crypto.Signer); is {
				return signer, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: expected a private key of RSA, ECDSA or Ed25519 without a password, found %q", path, block.Type)
}

// Authorized returns how requests to a server at a URL are sent: with tokens, where it wants them and no header of the
// entry or the command line says who asks. see is for somebody who sees the requests to the server and, with authorization, those
// to who gives tokens for it; nil: nobody does.
func (l *Launcher) Authorized(name, url string, entry config.OAuth, secure *config.TLS, header http.Header, see SeeHTTP) (*http.Client, error) {
	base, err := NewTLSClient(secure)
	if err != nil {
		return nil, err
	}
	base.RoundTripper = l.Hiding(base.RoundTripper)
	var seen http.RoundTripper = base
	if see != nil {
		seen = see(base, false)
	}
	if header.Get("Authorization") != "" {
		return &http.Client{Transport: seen}, nil
	}
	tokens, err := l.Tokens(entry, nil, see)
	if err != nil {
		return nil, err
	}
	t, err := tokens.Transport(url, seen)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = url
	}
	return &http.Client{Transport: signIn{name, Passing{t}}}, nil
}

// signIn returns the advice for a missing login.
type signIn struct {
	name string
	Passing
}

// Passing passes requests on, and CloseIdleConnections, too.
type Passing struct{ http.RoundTripper }

// CloseIdleConnections is called by [http.Client].
func (p Passing) CloseIdleConnections() {
	(&http.Client{Transport: p.RoundTripper}).CloseIdleConnections()
}

// RoundTrip implements [http.RoundTripper].
func (s signIn) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(req)
	if rights, is := errors.AsType[*oauth.RightsError](err); is {
		return nil, &needsLogin{s.name, rights.Scopes}
	}
	if errors.Is(err, oauth.ErrLogin) {
		return nil, &needsLogin{name: s.name}
	}
	return response, err
}

// needsLogin is [oauth.ErrLogin] with its remedy.
type needsLogin struct {
	name   string
	scopes []string // that the present login lacks
}

// Error returns the reason with its remedy.
func (e *needsLogin) Error() string {
	if len(e.scopes) == 0 {
		return "sign in: junction login " + plaintext.ShellWord(e.name)
	}
	return "more rights are needed: junction login " + plaintext.ShellWord(e.name) + " --scope " + plaintext.ShellWord(plaintext.Line(strings.Join(e.scopes, ","), 200))
}

// Unwrap is [oauth.ErrLogin].
func (e *needsLogin) Unwrap() error { return oauth.ErrLogin }

// OAuthOf returns the options of tokens for a configured server.
func OAuthOf(s *config.Server) config.OAuth {
	if s.OAuth == nil {
		return config.OAuth{}
	}
	return *s.OAuth
}

// AuthorizedAs is [Launcher.Authorized] for a server of a configuration: a [Sender].
func (l *Launcher) AuthorizedAs(s *config.Server, header http.Header) (*http.Client, error) {
	return l.Authorized(s.Name, s.URL, OAuthOf(s), s.TLS, header, nil)
}

// AtEnd has something closed by [Launcher.Close].
func (l *Launcher) AtEnd(c io.Closer) {
	l.closing.Lock()
	defer l.closing.Unlock()
	l.closers = append(l.closers, c)
}

// Close closes all that the Launcher opened.
func (l *Launcher) Close() error {
	l.closing.Lock()
	defer l.closing.Unlock()
	var errs []error
	for _, c := range l.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

const (
	// RenewCommand is the hidden command that renews a login.
	RenewCommand = "renew-login"
	// RenewTime bounds the renewal of a login in a process of its own.
	RenewTime = time.Minute
)

// renewApart renews the login at a server in another process, which outlives this one. If this process is
// killed during the renewal, the login is not lost, although the old token may be invalid.
func (l *Launcher) renewApart(ctx context.Context, server, mark string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := l.Place.Command(context.WithoutCancel(ctx), self, RenewCommand, server, mark)
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends within RenewTime
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewsApart reports whether a login is kept with all that is needed to renew it.
func renewsApart(entry *config.OAuth) bool {
	return entry.ClientSecret == "" && entry.KeyFile == "" && entry.Grant == "" && len(entry.Hosts) == 0
}
