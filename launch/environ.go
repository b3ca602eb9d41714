package launch

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/model/providers"
)

// usualVariables are the variables that servers get if Junction serves several users. Programs and
// package runners commonly need these. A final star matches any ending.
var usualVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "NO_COLOR", "TMPDIR", "TMP", "TEMP", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "JUNCTION_*",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PROGRAMDATA", "PROGRAMFILES*",
}

// AdminTokenEnv is the environment variable for the token that controls junction up. If it is set,
// the token's file is not used.
const AdminTokenEnv = "JUNCTION_ADMIN_TOKEN"

// OwnVariables is a set of environment variables that hold Junction's own secrets. Its methods are
// safe for concurrent use.
type OwnVariables struct {
	mu    sync.Mutex
	named map[string]bool // names from flags, settings and this package
}

// Add adds the names of variables. It ignores empty names.
func (o *OwnVariables) Add(names ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.named == nil {
		o.named = map[string]bool{AdminTokenEnv: true}
		for _, name := range otlp.HeaderVariables {
			o.named[name] = true
		}
		for _, p := range providers.All() {
			o.named[p.KeyEnv] = true
		}
	}
	for _, name := range names {
		o.named[name] = true
	}
	delete(o.named, "")
}

func (o *OwnVariables) has(name string) bool {
	o.Add()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.named[name] || strings.HasPrefix(name, hostconfig.HeaderVariable)
}

// AddSettings adds the variables that the settings of set name as places of secrets.
func (o *OwnVariables) AddSettings(set *config.Set) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err == nil && s != nil {
			o.Add(s.SecretVariables()...)
		}
	}
}

// withholds reports whether a server gets a variable only if the server's entry or command line
// names it.
func (l *Launcher) withholds(name string) bool {
	if l.Own.has(name) {
		return true
	}
	name = strings.ToUpper(name)
	return l.SeveralUsers && !slices.ContainsFunc(usualVariables, func(usual string) bool {
		if prefix, ok := strings.CutSuffix(usual, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == usual
	})
}

// foreignVariables returns the names of the variables in the environment of this process that hold no
// secret of Junction.
func (l *Launcher) foreignVariables() (names []string) {
	for _, pair := range l.Place.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !l.Own.has(name) {
			names = append(names, name)
		}
	}
	return names
}

// variableWord matches a word of a command line that can be the name of a variable.
var variableWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// Environ returns the environment of a server that is a program. It is all, the environment of this
// process, without the variables of unset. It also lacks the variables that Junction withholds,
// except those named in words, the server's command line as the user wrote it. All code that starts
// a server calls Environ.
func (l *Launcher) Environ(all, unset []string, words ...string) []string {
	named := map[string]bool{}
	for _, word := range words {
		for _, name := range variableWord.FindAllString(word, -1) {
			named[name] = true
		}
	}
	kept := []string{} // not nil, because exec.Cmd replaces nil by the environment of this process
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(unset, name) && (named[name] || !l.withholds(name)) {
			kept = append(kept, pair)
		}
	}
	return kept
}

// withNamed returns environ with the withheld variables that a sandbox's profile names.
func (l *Launcher) withNamed(environ, names []string) []string {
	for _, name := range names {
		if value, set := l.Place.LookupEnv(name); set && l.withholds(name) {
			environ = append(environ[:len(environ):len(environ)], name+"="+value)
		}
	}
	return environ
}

// Hide removes secrets from the recording, if there is one.
func (l *Launcher) Hide(secrets ...string) {
	if l.Recorder != nil {
		l.Recorder.Hide(secrets...)
	}
}

// HideVariables removes the values of pairs from the recording if the name or the value of the pair
// looks like a secret.
func (l *Launcher) HideVariables(pairs []string) {
	for _, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); isSecretVariable(name, value) || len(guard.Secrets(value)) > 0 {
			l.Hide(value)
		}
	}
}

// isSecretVariable reports whether an environment variable holds a secret, judged by its name and
// value. The path of a file is not a secret.
func isSecretVariable(name, value string) bool {
	if redact.Looks(value) {
		return true
	}
	if !redact.Named(name) || strings.Contains(strings.ToLower(name), "author") {
		return false
	}
	_, err := os.Stat(value)
	return !filepath.IsAbs(value) || err != nil
}

// hideHeaders removes the values of headers, and the tokens in them, from the recording.
func (l *Launcher) hideHeaders(header http.Header) {
	for _, values := range header {
		for _, value := range values {
			l.Hide(value)
			scheme, credentials, found := strings.Cut(value, " ")
			if !found {
				continue
			}
			l.Hide(credentials, url.QueryEscape(credentials))
			if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
				_, password, _ := strings.Cut(string(plain), ":")
				l.Hide(string(plain), password)
			}
		}
	}
}

// Hiding returns a transport that removes the tokens of requests from the recording. It returns
// next without a recording.
func (l *Launcher) Hiding(next http.RoundTripper) http.RoundTripper {
	if l.Recorder == nil {
		return next
	}
	return hidingTransport{next, l}
}

// hidingTransport removes the tokens of the requests that it sends from the recording.
type hidingTransport struct {
	http.RoundTripper
	launcher *Launcher
}

// RoundTrip implements [http.RoundTripper].
func (t hidingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.launcher.hideHeaders(http.Header{"Authorization": r.Header["Authorization"]})
	return t.RoundTripper.RoundTrip(r)
}
