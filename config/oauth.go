package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// OAuth is what a file says of how access tokens for a server are got. A server that wants them says the rest.
type OAuth struct {
	ClientID     string   `json:"clientId,omitempty"` // of who was registered with the authorization server beforehand
	ClientSecret string   `json:"-"`
	KeyFile      string   `json:"privateKey,omitempty"` // absolute: the PEM file of a key in place of a secret
	Scopes       []string `json:"scopes,omitempty"`     // to ask for in addition to those that the server names
	// Grant is "" for a user who logs in, "client_credentials" for a program that acts for itself, "jwt-bearer" for one
	// with a signed statement in AssertionFile, "enterprise" for a user whose organization's IdentityProvider says
	// what they may use, where they log in, unless AssertionFile has its ID token, and "token-exchange" for a gateway, which gets a token
	// for each of its users in exchange for theirs.
	Grant         string `json:"grant,omitempty"`
	AssertionFile string `json:"assertion,omitempty"` // absolute
	CallbackPort  int    `json:"callbackPort,omitempty"`
	// Hosts may be authorization servers although they have private addresses.
	Hosts []string `json:"hosts,omitempty"`
	// Document is the URL of a metadata document by which authorization servers that read such documents know the client.
	Document string `json:"clientMetadataUrl,omitempty"`
	// Of an organization's identity provider: the issuer, and what the client is there.
	IdentityProvider     string `json:"identityProvider,omitempty"`
	IdentityClientID     string `json:"identityClientId,omitempty"`
	IdentityClientSecret string `json:"-"`
	// Issuer is the only authorization server for which ClientID is, and, with token-exchange, which gets the tokens of users
	// of another.
	Issuer string `json:"issuer,omitempty"`
	// Audience is what the authorization server calls the server that tokens are exchanged for, where it goes by names.
	Audience string `json:"audience,omitempty"`

	workspace string // of a project's definition its folder, which the files must lie in
}

// ReadFile reads KeyFile or AssertionFile, which may have 64 KiB. Where a project's file names it, it must lie in the
// project, whatever links lead to it, as that of ${file:} must: its text is sent to an authorization server of the
// project's choice. It is read anew each time.
func (o *OAuth) ReadFile(path string) ([]byte, error) {
	return readNamed(o.workspace, path)
}

// Grants without a user who logs in.
const (
	GrantClientCredentials = "client_credentials"
	GrantAssertion         = "jwt-bearer"
	GrantEnterprise        = "enterprise"
	GrantExchange          = "token-exchange"
)

// readOAuth reads the member "oauth", as Claude Code and others have it, too.
func (e *entryReader) readOAuth(v hujson.Value) (err error) {
	if v.Value.Kind() != '{' {
		return wrongType("an object", v)
	}
	o := &OAuth{}
	for _, m := range members(v) {
		switch m.name {
		case "clientId":
			o.ClientID, err = nonEmpty(m.value)
		case "clientSecret":
			o.ClientSecret, err = nonEmpty(m.value)
		case "clientMetadataUrl":
			o.Document, err = nonEmpty(m.value)
		case "identityProvider":
			o.IdentityProvider, err = nonEmpty(m.value)
		case "identityClientId":
			o.IdentityClientID, err = nonEmpty(m.value)
		case "identityClientSecret":
			o.IdentityClientSecret, err = nonEmpty(m.value)
		case "issuer":
			o.Issuer, err = nonEmpty(m.value)
		case "audience":
			o.Audience, err = nonEmpty(m.value)
		case "privateKey":
			o.KeyFile, err = nonEmpty(m.value)
		case "assertion":
			o.AssertionFile, err = nonEmpty(m.value)
		case "grant":
			o.Grant, err = nonEmpty(m.value)
		case "scopes":
			o.Scopes, err = e.strings("oauth.scopes", m.value)
		case "hosts":
			o.Hosts, err = e.strings("oauth.hosts", m.value)
		case "callbackPort":
			o.CallbackPort, err = port(m.value)
		default:
			e.warn(e.def.Name, "oauth."+plain(m.name), m.at, errors.New("is ignored: Junction has no such member"))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	e.def.oauth = o
	return o.check()
}

func port(v hujson.Value) (int, error) {
	n := float64(0)
	if v.Value.Kind() == '0' {
		n = v.Value.(hujson.Literal).Float()
	}
	if n < 1 || n > 65535 || n != float64(int(n)) {
		return 0, errors.New("expected a port, 1 to 65535")
	}
	return int(n), nil
}

// check says what does not fit together.
func (o *OAuth) check() error {
	switch {
	case o.Grant != "" && !slices.Contains([]string{GrantClientCredentials, GrantAssertion, GrantEnterprise, GrantExchange}, o.Grant):
		return fmt.Errorf("grant: expected %s, %s, %s or %s, or none for a user who logs in, got %s", GrantClientCredentials, GrantAssertion, GrantEnterprise, GrantExchange, quote(o.Grant))
	case o.ClientID != "" && o.Document != "":
		return errors.New("has both clientId and clientMetadataUrl; remove one")
	case o.Document != "" && !isDocument(o.Document):
		return fmt.Errorf("clientMetadataUrl: expected the https URL of a document, with a path, got %s", quote(o.Document))
	case o.ClientID == "" && (o.Grant != "" || o.ClientSecret != "" || o.KeyFile != ""):
		return errors.New("clientId is missing: the client's name at the authorization server")
	case o.ClientSecret != "" && o.KeyFile != "":
		return errors.New("has both clientSecret and privateKey; remove one")
	case (o.Grant == GrantClientCredentials || o.Grant == GrantExchange) && o.ClientSecret == "" && o.KeyFile == "":
		return fmt.Errorf("%s needs clientSecret, such as ${SECRET}, or privateKey, a file", o.Grant)
	case o.Audience != "" && o.Grant != GrantExchange:
		return errors.New("audience goes with the grant token-exchange")
	case o.Issuer != "" && o.ClientID == "":
		return errors.New("issuer, the authorization server that knows clientId, goes with clientId")
	case o.Grant == GrantAssertion && o.AssertionFile == "", o.AssertionFile != "" && o.Grant != GrantAssertion && o.Grant != GrantEnterprise:
		return errors.New("assertion, a file, and the grant jwt-bearer or enterprise go together")
	case (o.Grant == GrantEnterprise) != (o.IdentityProvider != ""), o.IdentityProvider == "" && o.IdentityClientID+o.IdentityClientSecret != "":
		return errors.New("identityProvider, the issuer of your organization's, and the grant enterprise go together")
	case o.Grant == GrantEnterprise && o.IdentityClientID == "":
		return errors.New("identityClientId is missing: the client's name at the identity provider")
	case o.ClientSecret != "" && !strings.Contains(o.ClientSecret, "${"), o.IdentityClientSecret != "" && !strings.Contains(o.IdentityClientSecret, "${"):
		return errors.New("clientSecret: write ${NAME}, and keep the secret itself in the environment: files are shared")
	}
	return nil
}

// isDocument reports whether a text is the URL of a Client ID Metadata Document. On this machine it may be of http.
func isDocument(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || len(u.Path) < 2 || u.Fragment != "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && u.Hostname() == "127.0.0.1"
}

// oauth completes what a file says of tokens; where it fails, it names the field.
func (x *expansion) oauth() (_ *OAuth, field string, err error) {
	if x.def.oauth == nil {
		return nil, "", nil
	}
	o := *x.def.oauth
	for _, member := range []struct {
		name   string
		value  *string
		isFile bool
	}{
		{"clientId", &o.ClientID, false}, {"clientSecret", &o.ClientSecret, false}, {"privateKey", &o.KeyFile, true}, {"assertion", &o.AssertionFile, true},
		{"issuer", &o.Issuer, false}, {"audience", &o.Audience, false}, {"identityProvider", &o.IdentityProvider, false}, {"identityClientId", &o.IdentityClientID, false}, {"identityClientSecret", &o.IdentityClientSecret, false},
	} {
		if *member.value, err = x.expand(*member.value); err != nil {
			return nil, "oauth." + member.name, err
		}
		if member.isFile && *member.value != "" {
			path := absolute(*member.value, x.def.folder)
			if o.workspace = x.def.workspace; o.workspace != "" {
				if _, _, local := insideProject(o.workspace, path); !local {
					return nil, "oauth." + member.name, outsideProject(*member.value)
				}
			}
			*member.value = path
		}
	}
	return &o, "", nil
}
