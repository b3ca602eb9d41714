package up

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// TestAKeyActsForAUser sees that only callers with a key act for others, and only if the settings name the header.
func TestAKeyActsForAUser(t *testing.T) {
	check := func(r *http.Request, _ string) (*mcp.Principal, error) {
		if r.Header.Get("X-API-Key") == "" {
			return nil, errors.New("no key")
		}
		return &mcp.Principal{Subject: "gateway", Issuer: "junction-keys", ClientID: "k"}, nil
	}
	key := func(more http.Header) http.Header {
		h := http.Header{"X-Api-Key": {"k"}}
		for name, values := range more {
			h[name] = values
		}
		return h
	}
	for name, test := range map[string]struct {
		setting string
		header  http.Header
		want    string // issuer and subject, or a part of the error
	}{
		"no setting":       {"", key(http.Header{"X-User": {"ann"}}), "junction-keys gateway"},
		"no header":        {"X-User", key(nil), "junction-keys gateway"},
		"a user":           {"X-User", key(http.Header{"X-User": {"b%C3%A9n"}, "X-User-Issuer": {"https://login.example"}}), "https://login.example bén"},
		"only the subject": {"x-user", key(http.Header{"X-User": {"ann"}}), "junction-keys ann"},
		"only the issuer":  {"X-User", key(http.Header{"X-User-Issuer": {"x"}}), "junction-keys gateway"},
		"no key":           {"X-User", http.Header{"X-User": {"ann"}}, "no key"},
		"two users":        {"X-User", key(http.Header{"X-User": {"ann", "ben"}}), "one value"},
		"no name":          {"X-User", key(http.Header{"X-User": {""}}), "one value"},
		"a long name":      {"X-User", key(http.Header{"X-User": {strings.Repeat("a", maxUser+1)}}), "one value"},
		"no text":          {"X-User", key(http.Header{"X-User": {"a%FF"}}), "UTF-8"},
		"not encoded":      {"X-User", key(http.Header{"X-User": {"a%zz"}}), "percent-encoded"},
	} {
		p, err := actingFor(test.setting, check)(&http.Request{Header: test.header}, "")
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = p.Issuer + " " + p.Subject; p.ClientID != "k" {
			t.Errorf("%s: the client is %q", name, p.ClientID)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
