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
	MaxKeyFile   = 64 << 10 // largest size of a file with a key, in bytes
	maxIdleConns = 512      // to one server
)

// OpenLogins opens the store of the logins of a gateway's users: the shared one of UseShared, or else
// that of this user's logins. A missing store is created only if create is set.
func (l *Launcher) OpenLogins(ctx context.Context, create bool) (state.Store, []byte, error) {
	if l.shared != nil {
		return l.shared, l.sharedKey, nil
	}
	return l.openOwn(create)(ctx)
}

// openOwn returns a function that opens the store of this user's logins and secrets.
func (l *Launcher) openOwn(create bool) func(ctx context.Context) (state.Store, []byte, error) {
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

// OpenState opens a state file, which [Launcher.Close] closes.
func (l *Launcher) OpenState(ctx context.Context, path string) (state.Store, error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	l.AtEnd(s)
	return s, nil
}

// loginStore returns the store of logins that ShareLogins opened, or else a new one.
func (l *Launcher) loginStore(create bool) *oauth.Store {
	if s := l.logins[create]; s != nil {
		return s
	}
	return oauth.OpenStore(l.openOwn(create))
}

// ShareLogins makes all connections of l use the same two stores of logins, one that creates a
// missing file and one that does not. Long-running commands with many connections call it.
func (l *Launcher) ShareLogins() {
	l.logins = map[bool]*oauth.Store{false: oauth.OpenStore(l.openOwn(false)), true: oauth.OpenStore(l.openOwn(true))}
}

// A SeeHTTP wraps next for an observer of its requests. authorization is set for requests to an
// authorization server.
type SeeHTTP = func(next http.RoundTripper, authorization bool) http.RoundTripper

// Tokens returns a client that gets tokens for one server as the server's entry describes. visit
// shows a page to the user; if it is nil, logins that need a page fail. see may be nil.
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

// TokenOptions returns the options of the client of [Launcher.Tokens].
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
	case config.GrantClientCredentials, config.GrantExchange: // with GrantExchange, the Exchanging of junction up adds more for each caller
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

// LogsInAtProvider reports whether users log in at their organization's identity provider instead
// of at each server.
func LogsInAtProvider(entry *config.OAuth) bool {
	return entry.Grant == config.GrantEnterprise && entry.AssertionFile == ""
}

// identityClient returns the registration at an organization's identity provider.
func identityClient(entry *config.OAuth) oauth.Registration {
	r := oauth.Registration{ID: entry.IdentityClientID, Secret: entry.IdentityClientSecret}
	if entry.CallbackPort > 0 {
		r.Redirect = oauth.LoopbackRedirect(entry.CallbackPort)
	}
	return r
}

// Identity returns the login at an entry's identity provider. o holds the options of the entry's
// tokens.
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

// readAssertion reads the assertion of a client or user from its file. It reads the file each time,
// because others replace the assertion before it expires.
func readAssertion(entry *config.OAuth) (string, error) {
	data, err := entry.ReadFile(entry.AssertionFile)
	if err != nil {
		return "", &config.Problem{Field: "oauth.assertion", Err: err}
	}
	return strings.TrimSpace(string(data)), nil
}

// readKey reads a private key from a PEM file in the form of PKCS #8, PKCS #1 (RSA) or SEC 1.
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

// Authorized returns the HTTP client for a server with a URL. It adds tokens to requests if the
// server wants them, unless header has an Authorization. see wraps the transports of requests to
// the server and to the authorization server; it may be nil.
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

// signIn is a transport that adds the command for a login to the error about a missing login.
type signIn struct {
	name string
	Passing
}

// Passing embeds a transport and forwards CloseIdleConnections to it.
type Passing struct{ http.RoundTripper }

// CloseIdleConnections closes the idle connections of the embedded transport. [http.Client] calls
// it.
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

// needsLogin is an [oauth.ErrLogin] that names the command for the login.
type needsLogin struct {
	name   string
	scopes []string // scopes that the current login lacks; may be empty
}

// Error returns the reason with its remedy.
func (e *needsLogin) Error() string {
	if len(e.scopes) == 0 {
		return "sign in: junction login " + plaintext.ShellWord(e.name)
	}
	return "more rights are needed: junction login " + plaintext.ShellWord(e.name) + " --scope " + plaintext.ShellWord(plaintext.Line(strings.Join(e.scopes, ","), 200))
}

// Unwrap returns [oauth.ErrLogin].
func (e *needsLogin) Unwrap() error { return oauth.ErrLogin }

// OAuthOf returns the OAuth of a server's entry, or the zero OAuth without one.
func OAuthOf(s *config.Server) config.OAuth {
	if s.OAuth == nil {
		return config.OAuth{}
	}
	return *s.OAuth
}

// AuthorizedAs is [Launcher.Authorized] for a configured server. It is a [Sender].
func (l *Launcher) AuthorizedAs(s *config.Server, header http.Header) (*http.Client, error) {
	return l.Authorized(s.Name, s.URL, OAuthOf(s), s.TLS, header, nil)
}

// AtEnd makes [Launcher.Close] close c.
func (l *Launcher) AtEnd(c io.Closer) {
	l.closing.Lock()
	defer l.closing.Unlock()
	l.closers = append(l.closers, c)
}

// Close closes everything that was passed to AtEnd.
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

// renewApart renews the login at a server in another process. The login survives if this process is
// killed during the renewal, when the old token may already be invalid.
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
	go func() { ended <- cmd.Wait() }() // the process ends within RenewTime
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewsApart reports whether the stored login alone is sufficient to renew it.
func renewsApart(entry *config.OAuth) bool {
	return entry.ClientSecret == "" && entry.KeyFile == "" && entry.Grant == "" && len(entry.Hosts) == 0
}
