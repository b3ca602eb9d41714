package launch

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/redact"
)

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

// hideHeaders hides the values of headers, and what is in them.
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

// Hiding returns what hides the tokens that requests are sent with, if something is recorded.
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
