package main

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

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/sqlite"
)

const (
	maxKeyFile   = 64 << 10 // bytes of a key
	maxIdleConns = 512      // to one server
)

// openLogins opens what keeps this user's logins. Unless it is to be made, it need not be there.
func (a *app) openLogins(create bool) func(ctx context.Context) (state.Store, []byte, error) {
	return func(ctx context.Context) (state.Store, []byte, error) {
		path, err := stateFile("state.db")
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !create {
			return nil, nil, state.ErrNotFound
		}
		key, err := loginKey(ctx, create)
		if err != nil {
			return nil, nil, err
		}
		s, err := a.openState(ctx, path)
		return s, key, err
	}
}

// openState opens a file of what is kept, until the command ends.
func (a *app) openState(ctx context.Context, path string) (state.Store, error) {
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	a.atEnd(s)
	return s, nil
}

// loginStore is where logins are kept; for a command that goes on, and connects often, it is the same each time.
func (a *app) loginStore(create bool) *oauth.Store {
	if s := a.logins[create]; s != nil {
		return s
	}
	return oauth.OpenStore(a.openLogins(create))
}

// shareLogins has all that this command connects to use the same stores.
func (a *app) shareLogins() {
	a.logins = map[bool]*oauth.Store{false: oauth.OpenStore(a.openLogins(false)), true: oauth.OpenStore(a.openLogins(true))}
}

// A seeHTTP wraps what sends requests for somebody who sees them; with authorization, requests to who gives tokens.
type seeHTTP = func(next http.RoundTripper, authorization bool) http.RoundTripper

// tokens is a client that gets tokens for one server as its entry says. Without a way for the user to visit pages,
// what needs that fails. see is for somebody who sees the requests; nil: nobody does.
func (a *app) tokens(entry config.OAuth, visit func(ctx context.Context, redirect string) (*oauth.Visit, error), see seeHTTP) (*oauth.Client, error) {
	o, err := a.tokenOptions(entry, visit)
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

// tokenOptions are those of tokens.
func (a *app) tokenOptions(entry config.OAuth, visit func(ctx context.Context, redirect string) (*oauth.Visit, error)) (oauth.Options, error) {
	o := oauth.Options{Name: "Junction", Visit: visit, Scopes: entry.Scopes, Logger: a.logger()}
	if !a.renews && renewsApart(&entry) {
		o.Renew = renewApart
	}
	o.Store = a.loginStore(visit != nil || entry.Grant != "")
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
		if p.Identity = a.identity(&entry, o).Token; entry.AssertionFile != "" {
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
				return o, fmt.Errorf("oauth.privateKey: %w", err)
			}
		}
		o.Registered = func(issuer string) (oauth.Registration, bool) { return r, entry.Issuer == "" || issuer == entry.Issuer }
	}
	return o, nil
}

// logsInAtProvider reports whether a user logs in at their organization's identity provider, and not at each server.
func logsInAtProvider(entry *config.OAuth) bool {
	return entry.Grant == config.GrantEnterprise && entry.AssertionFile == ""
}

// identityClient is what the client is at an organization's identity provider.
func identityClient(entry *config.OAuth) oauth.Registration {
	r := oauth.Registration{ID: entry.IdentityClientID, Secret: entry.IdentityClientSecret}
	if entry.CallbackPort > 0 {
		r.Redirect = oauth.LoopbackRedirect(entry.CallbackPort)
	}
	return r
}

// identity is the login at the identity provider that an entry names, with the options of its tokens.
func (a *app) identity(entry *config.OAuth, o oauth.Options) *oauth.Identity {
	o.Grant, o.Document, o.Scopes, o.Renew = nil, "", nil, nil
	if !a.renews && entry.IdentityClientSecret == "" && len(entry.Hosts) == 0 {
		o.Renew = renewApart
	}
	o.Registered = func(issuer string) (oauth.Registration, bool) {
		return identityClient(entry), issuer == entry.IdentityProvider
	}
	return oauth.New(o).Identity(entry.IdentityProvider)
}

// readAssertion reads what is signed of a client or its user, anew each time: it is replaced before it expires.
func readAssertion(entry *config.OAuth) (string, error) {
	data, err := entry.ReadFile(entry.AssertionFile)
	return strings.TrimSpace(string(data)), err
}

// readSmall reads a file that should have at most so many bytes.
func readSmall(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if len(data) > most {
		return nil, fmt.Errorf("%s has more than %d KiB", path, most>>10)
	}
	return data, err
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

// authorized is how requests to a server at a URL are sent: with tokens, where it wants them and no header of the
// entry or the command line says who asks. see is for somebody who sees the requests to the server and, with authorization, those
// to who gives tokens for it; nil: nobody does.
func (a *app) authorized(name, url string, entry config.OAuth, secure *config.TLS, header http.Header, see seeHTTP) (*http.Client, error) {
	base, err := newTLSClient(secure)
	if err != nil {
		return nil, err
	}
	if a.recorder != nil {
		base.RoundTripper = hidingTransport{base.RoundTripper, a}
	}
	var seen http.RoundTripper = base
	if see != nil {
		seen = see(base, false)
	}
	if header.Get("Authorization") != "" {
		return &http.Client{Transport: seen}, nil
	}
	tokens, err := a.tokens(entry, nil, see)
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
	return &http.Client{Transport: signIn{name, passing{t}}}, nil
}

// signIn says what to do where nobody is logged in.
type signIn struct {
	name string
	passing
}

// passing passes requests on, and that nothing more is asked of a server, by which connections that are idle end.
type passing struct{ http.RoundTripper }

// CloseIdleConnections is called by [http.Client].
func (p passing) CloseIdleConnections() {
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

// Error says what to do.
func (e *needsLogin) Error() string {
	if len(e.scopes) == 0 {
		return "sign in: junction login " + shellWord(e.name)
	}
	return "more rights are needed: junction login " + shellWord(e.name) + " --scope " + shellWord(plaintext.Line(strings.Join(e.scopes, ","), 200))
}

// Unwrap is [oauth.ErrLogin].
func (e *needsLogin) Unwrap() error { return oauth.ErrLogin }
