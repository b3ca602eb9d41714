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

// usualVariables are the variables that servers get if Junction serves several users: those that
// programs and package runners need. A final star matches any ending.
var usualVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "NO_COLOR", "TMPDIR", "TMP", "TEMP", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "JUNCTION_*",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PROGRAMDATA", "PROGRAMFILES*",
}

// AdminTokenEnv names the variable of the token that controls junction up, which replaces its file.
const AdminTokenEnv = "JUNCTION_ADMIN_TOKEN"

// OwnVariables are the variables of the environment that hold secrets of Junction itself. Its methods are safe for concurrent use.
type OwnVariables struct {
	mu    sync.Mutex
	named map[string]bool // by flags and settings
}

// Add takes the names of variables; empty ones count for nothing.
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

// AddSettings takes the variables that settings name as those of secrets.
func (o *OwnVariables) AddSettings(set *config.Set) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err == nil && s != nil {
			o.Add(s.SecretVariables()...)
		}
	}
}

// withholds reports whether servers do not get a variable of the environment unless their entry, or command line, names it.
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

// variableWord matches the possible name of a variable within a command line.
var variableWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// Environ is the environment of a server that is started: all, which is this process's, without the variables that are to be taken out, and
// without those that Junction withholds and words, the server's command line as the user wrote it, do not name. It is how each
// server is started that is a program, by whatever command.
func (l *Launcher) Environ(all, unset []string, words ...string) []string {
	named := map[string]bool{}
	for _, word := range words {
		for _, name := range variableWord.FindAllString(word, -1) {
			named[name] = true
		}
	}
	kept := []string{} // nil would mean all
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(unset, name) && (named[name] || !l.withholds(name)) {
			kept = append(kept, pair)
		}
	}
	return kept
}

// withNamed adds to an environment the variables that a sandbox's profile names and Junction withholds otherwise.
func (l *Launcher) withNamed(environ, names []string) []string {
	for _, name := range names {
		if value, set := l.Place.LookupEnv(name); set && l.withholds(name) {
			environ = append(environ[:len(environ):len(environ)], name+"="+value)
		}
	}
	return environ
}

// Hide keeps secrets out of the recording, if there is one.
func (l *Launcher) Hide(secrets ...string) {
	if l.Recorder != nil {
		l.Recorder.Hide(secrets...)
	}
}

// HideVariables hides the values of variables that look like secrets, or whose names do.
func (l *Launcher) HideVariables(pairs []string) {
	for _, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); isSecretVariable(name, value) || len(guard.Secrets(value)) > 0 {
			l.Hide(value)
		}
	}
}

// isSecretVariable reports whether a variable of the environment holds a secret, by its name. The path of a file is not one.
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

// hideHeaders hides the values of headers, and the tokens in them.
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

// Hiding returns a wrapper that hides the tokens of requests from a recording; nil without a recording.
func (l *Launcher) Hiding(next http.RoundTripper) http.RoundTripper {
	if l.Recorder == nil {
		return next
	}
	return hidingTransport{next, l}
}

// hidingTransport hides the tokens that requests are sent with.
type hidingTransport struct {
	http.RoundTripper
	launcher *Launcher
}

// RoundTrip sends a request.
func (t hidingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.launcher.hideHeaders(http.Header{"Authorization": r.Header["Authorization"]})
	return t.RoundTripper.RoundTrip(r)
}
