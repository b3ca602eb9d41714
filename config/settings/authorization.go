package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/proxied"
)

const (
	maxSecretFile = 64 << 10             // bytes of a file with one secret
	maxTokenTime  = 24 * time.Hour       // longest lifetime of an access token
	maxLoginTime  = 365 * 24 * time.Hour // longest age of a login
)

// Authorization configures the audience of access tokens, the scopes that they need, and their
// issuers.
type Authorization struct {
	URL            string              `json:"url,omitempty" example:"https://tools.example.com" restart:"gateway" doc:"an older name of listen.publicURL"`
	Needs          []string            `json:"needs,omitempty" max:"100" restart:"tokens" doc:"scopes that every request needs. Keys need them, too, and the scopes of tools: junction key create --scope"`
	Tools          map[string][]string `json:"tools,omitempty" max:"1000" doc:"scopes of tools, by patterns of the names that clients see; without all of them a caller neither sees nor calls a tool"`
	Scopes         []string            `json:"scopes,omitempty" max:"100" restart:"tokens" doc:"further scopes, such as those of rules"`
	TokenTime      time.Duration       `json:"tokenTime,omitempty" default:"15m" restart:"tokens" doc:"the lifetime of access tokens of --auth local; up to 24h"`
	LoginTime      time.Duration       `json:"loginTime,omitempty" default:"2160h" restart:"tokens" doc:"the maximum duration of a login with --auth local, including renewals; up to 8760h. If the provider issues no refresh token, at most 12h"`
	TrustedProxies []string            `json:"trustedProxies,omitempty" max:"100" restart:"gateway" doc:"an older name of listen.trustedProxies; both count"`
	Proofs         string              `json:"proofs,omitempty" enum:"taken,needed,nonce" default:"taken" restart:"tokens" doc:"whether access tokens are bound to a key of their client (DPoP), which makes stolen tokens useless: if the client does so; always; or always with a nonce of the gateway, so that proofs cannot be prepared. Junction's own client binds its tokens if needed; many clients cannot"`
	RegisteredOnly bool                `json:"registeredOnly,omitempty" restart:"tokens" doc:"clients must register with --auth local: for a gateway without internet, which cannot read the documents that clients such as Codex publish"`
	Provider       *Provider           `json:"provider,omitempty" restart:"tokens" doc:"an OpenID provider at which users log in, in place of the users of junction user; with --auth local"`
	Issuers        map[string]Issuer   `json:"issuers,omitempty" max:"10" restart:"tokens" doc:"settings of the authorization servers of --auth, by their URLs; with clientId and a secret, Junction asks them about each token (introspection)"`
	UserHeader     string              `json:"userHeader,omitempty" pattern:"^[A-Za-z][-A-Za-z0-9]{0,99}$" example:"Junction-User" restart:"tokens" doc:"a header in which callers with a key name the user that they act for. Give their keys only to gateways whose word you take for it, such as a junction up with userHeader in its entry"`
	Hosts          []string            `json:"hosts,omitempty" max:"100" restart:"tokens" doc:"hosts of authorization servers, and of clients' documents, that may be on a private network"`
}

// A Credential is the gateway's registration at another server.
type Credential struct {
	ClientID string `json:"clientId" doc:"the gateway's client ID there"`
	SecretFrom
}

// SecretFrom names the place of a secret.
type SecretFrom struct {
	SecretEnv  string `json:"secretEnv,omitempty" doc:"the environment variable with the secret"`
	SecretFile string `json:"secretFile,omitempty" doc:"the file with the secret; a relative path is from this file's folder"`
}

// A Provider is an OpenID provider where users log in.
type Provider struct {
	Issuer string `json:"issuer" doc:"its URL"`
	Credential
	Domains  []string `json:"domains,omitempty" max:"100" doc:"domains of verified e-mail addresses whose owners may log in; their names are these addresses"`
	Subjects []string `json:"subjects,omitempty" max:"10000" doc:"further users who may log in, by the provider's ID for them (sub)"`
	Scopes   []string `json:"scopes,omitempty" max:"100" doc:"scopes of all these users"`

	Groups map[string][]string `json:"groups,omitempty" max:"1000" doc:"further scopes of the users of a group, by the group's name at the provider"`
	Claims ProviderClaims      `json:"claims,omitzero" doc:"the provider's claims about a user"`
}

// ProviderClaims holds the names of claims in the ID token or in the response of the userinfo
// endpoint.
type ProviderClaims struct {
	Subject string `json:"subject,omitempty" default:"sub" doc:"the claim that subjects lists"`
	Email   string `json:"email,omitempty" default:"email" doc:"the claim of the e-mail address, which counts with email_verified"`
	Groups  string `json:"groups,omitempty" default:"groups" doc:"the claim of the groups: its name, or a path such as /realm_access/roles"`
}

// An Issuer is an authorization server that introspects each token (RFC 7662). The gateway does not
// check the signatures of its tokens.
type Issuer struct {
	ClientID string `json:"clientId,omitempty" doc:"the gateway's client ID there, for introspection"`
	SecretFrom
	Introspection string       `json:"introspection,omitempty" doc:"its introspection endpoint; by default that of its metadata"`
	Claims        IssuerClaims `json:"claims,omitzero" doc:"its claims about a user"`
}

// IssuerClaims holds the names of claims in tokens, or in responses about them.
type IssuerClaims struct {
	Groups string `json:"groups,omitempty" default:"groups" doc:"the claim of the groups: its name, or a path such as /realm_access/roles"`
}

var scopeText = lazy.Regexp(`^[\x21\x23-\x5B\x5D-\x7E]{1,200}$`)

// check returns the faults that the schema cannot express.
func (a *Authorization) check() error {
	var faults []error
	for _, scope := range a.All() {
		if !scopeText().MatchString(scope) {
			faults = append(faults, fmt.Errorf("authorization: %q is not a valid scope", scope))
		}
	}
	for pattern := range a.Tools {
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, fmt.Errorf("authorization.tools: %q is not a valid pattern: %w", pattern, err))
		}
	}
	if a.URL != "" && !isOrigin(a.URL) {
		faults = append(faults, fmt.Errorf("authorization.url: expected an origin such as https://tools.example.com, got %q", a.URL))
	}
	if a.TokenTime < 0 || a.TokenTime > maxTokenTime {
		faults = append(faults, fmt.Errorf("authorization.tokenTime: expected up to %v, got %v", maxTokenTime, a.TokenTime))
	}
	if a.LoginTime < 0 || a.LoginTime > maxLoginTime {
		faults = append(faults, fmt.Errorf("authorization.loginTime: expected up to %v, got %v", maxLoginTime, a.LoginTime))
	}
	if _, err := proxied.Parse(a.TrustedProxies); err != nil {
		faults = append(faults, fmt.Errorf("authorization.trustedProxies: %w", err))
	}
	if p := a.Provider; p != nil && len(p.Domains)+len(p.Subjects) == 0 {
		faults = append(faults, errors.New("authorization.provider: expected domains or subjects, because without them no user may log in"))
	}
	for _, url := range slices.Sorted(maps.Keys(a.Issuers)) {
		if i := a.Issuers[url]; i.ClientID == "" && (i.SecretFrom != SecretFrom{} || i.Introspection != "") {
			faults = append(faults, fmt.Errorf("authorization.issuers.%s: expected clientId, with which the gateway asks about tokens", url))
		}
	}
	return errors.Join(faults...)
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && text == u.Scheme+"://"+u.Host && (u.Scheme == "https" || u.Scheme == "http")
}

// All returns all scopes, sorted.
func (a *Authorization) All() []string {
	all := slices.Concat(a.Needs, a.Scopes)
	for _, pattern := range slices.Sorted(maps.Keys(a.Tools)) {
		all = append(all, a.Tools[pattern]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Secret returns the secret from the environment variable, by getenv, or from the file. folder is
// the base of a relative SecretFile. The secret is "" if neither member is set.
func (c *SecretFrom) Secret(folder string, getenv func(string) string) (string, error) {
	switch {
	case c.SecretEnv != "":
		secret := getenv(c.SecretEnv)
		if secret == "" {
			return "", fmt.Errorf("secretEnv: the variable %s is not set", c.SecretEnv)
		}
		return secret, nil
	case c.SecretFile == "":
		return "", nil
	}
	name := c.SecretFile
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("secretFile: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", fmt.Errorf("secretFile: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || len(text) > maxSecretFile {
		return "", fmt.Errorf("secretFile: %s: expected a secret of up to %d KiB", name, maxSecretFile>>10)
	}
	return secret, nil
}
