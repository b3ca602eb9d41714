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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/proxied"
)

const (
	maxSecretFile = 64 << 10             // bytes of a file that holds one secret
	maxTokenTime  = 24 * time.Hour       // for which an access token may hold
	maxLoginTime  = 365 * 24 * time.Hour // how old a login may get
)

// Authorization says what tokens are for, which scopes they need, and who gives them.
type Authorization struct {
	URL            string              `json:"url,omitempty" example:"https://tools.example.com" restart:"gateway" doc:"the origin by which clients and browsers reach the gateway, as --public-url; by default the address that it listens on"`
	Needs          []string            `json:"needs,omitempty" max:"100" restart:"tokens" doc:"scopes without which nothing can be done. Keys, too, need these and those of tools: junction key create --scope"`
	Tools          map[string][]string `json:"tools,omitempty" max:"1000" doc:"scopes that tools need, by patterns of the names that clients see; tools for which a caller has not all are hidden, and calls of them refused"`
	Scopes         []string            `json:"scopes,omitempty" max:"100" restart:"tokens" doc:"more scopes that there are, such as those that rules ask about"`
	TokenTime      time.Duration       `json:"tokenTime,omitempty" default:"15m" restart:"tokens" doc:"for how long an access token holds that --auth local gives; up to 24h"`
	LoginTime      time.Duration       `json:"loginTime,omitempty" default:"2160h" restart:"tokens" doc:"how old a login with --auth local gets, however often its tokens are renewed; up to 8760h. One at a provider that gives no refresh token ends after 12h at the latest"`
	TrustedProxies []string            `json:"trustedProxies,omitempty" max:"100" restart:"gateway" doc:"proxies in front of the gateway whose X-Forwarded-For or Forwarded says where a client is, as --trusted-proxy: networks such as 10.0.0.0/8, addresses, or unix for a socket"`
	Proofs         string              `json:"proofs,omitempty" enum:"taken,needed,nonce" default:"taken" restart:"tokens" doc:"whether access tokens are bound to a key of their client (DPoP), so that one that is read in a log or a proxy is of no use: where the client does so; always; or always, with proofs that have to hold what the gateway says, so that nobody makes them ahead. Junction's own client binds its tokens where that is needed; many clients cannot"`
	RegisteredOnly bool                `json:"registeredOnly,omitempty" restart:"tokens" doc:"clients have to register with --auth local: for a gateway that cannot reach, as without the internet, what a client such as Codex publishes about itself"`
	Provider       *Provider           `json:"provider,omitempty" restart:"tokens" doc:"an OpenID provider at which users log in, in place of the users of junction user; with --auth local"`
	Issuers        map[string]Issuer   `json:"issuers,omitempty" max:"10" restart:"tokens" doc:"what holds for authorization servers that --auth names, by their URLs: with clientId and a secret they are asked about each token (introspection)"`
	Hosts          []string            `json:"hosts,omitempty" max:"100" restart:"tokens" doc:"hosts of authorization servers, and of clients' documents, that may be on a private network"`
}

// A Credential is what the gateway is registered as somewhere. Its secret is in a variable of the environment, or in a file.
type Credential struct {
	ClientID   string `json:"clientId" doc:"what the gateway is registered as there"`
	SecretEnv  string `json:"secretEnv,omitempty" doc:"the variable of the environment that has the secret"`
	SecretFile string `json:"secretFile,omitempty" doc:"the file that has the secret; a relative path is from this file's folder"`
}

// A Provider is an OpenID provider at which users log in.
type Provider struct {
	Issuer string `json:"issuer" doc:"its URL"`
	Credential
	Domains  []string `json:"domains,omitempty" max:"100" doc:"domains of verified e-mail addresses whose owners may log in; their names are these addresses"`
	Subjects []string `json:"subjects,omitempty" max:"10000" doc:"users who may log in, too, by what the provider calls them (sub)"`
	Scopes   []string `json:"scopes,omitempty" max:"100" doc:"scopes that all of them have"`

	Groups map[string][]string `json:"groups,omitempty" max:"1000" doc:"scopes that users of a group have in addition, by the group's name at the provider"`
	Claims ProviderClaims      `json:"claims,omitzero" doc:"the claims of the provider that say who a user is"`
}

// ProviderClaims are the names of claims, in the ID token or at the userinfo endpoint.
type ProviderClaims struct {
	Subject string `json:"subject,omitempty" default:"sub" doc:"the one that subjects has"`
	Email   string `json:"email,omitempty" default:"email" doc:"the e-mail address, which counts where email_verified says so"`
	Groups  string `json:"groups,omitempty" default:"groups" doc:"the groups"`
}

// An Issuer is an authorization server that is asked about each token (RFC 7662) in place of checking its signature.
type Issuer struct {
	Credential
	Introspection string `json:"introspection,omitempty" doc:"its introspection endpoint; by default as its metadata says"`
}

var scopeText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]{1,200}$`) })

// check says what a schema cannot.
func (a *Authorization) check() error {
	var faults []error
	for _, scope := range a.All() {
		if !scopeText().MatchString(scope) {
			faults = append(faults, fmt.Errorf("authorization: %q is no scope", scope))
		}
	}
	for pattern := range a.Tools {
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, fmt.Errorf("authorization.tools: %q is no pattern: %w", pattern, err))
		}
	}
	if a.URL != "" {
		if u, err := url.Parse(a.URL); err != nil || u.Host == "" || u.User != nil || a.URL != u.Scheme+"://"+u.Host || u.Scheme != "https" && u.Scheme != "http" {
			faults = append(faults, fmt.Errorf("authorization.url: expected an origin such as https://tools.example.com, got %q", a.URL))
		}
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
		faults = append(faults, errors.New("authorization.provider: expected domains or subjects; nobody may log in"))
	}
	return errors.Join(faults...)
}

// All are all scopes that there are.
func (a *Authorization) All() []string {
	all := slices.Concat(a.Needs, a.Scopes)
	for _, pattern := range slices.Sorted(maps.Keys(a.Tools)) {
		all = append(all, a.Tools[pattern]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Secret reads the secret, of a variable with getenv; a relative path is from a folder. It is empty where neither member names one.
func (c *Credential) Secret(folder string, getenv func(string) string) (string, error) {
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
