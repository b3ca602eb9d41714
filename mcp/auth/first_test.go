package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A server that accepts keys and tokens has the principal of the first way that accepts the request, and
// else the error of the last one.
func TestTheFirstWayThatAcceptsARequestCounts(t *testing.T) {
	noKey, noToken := errors.New("no such key"), errors.New("no such token")
	way := func(header string, refusal error) func(*http.Request) (*mcp.Principal, error) {
		return func(r *http.Request) (*mcp.Principal, error) {
			if r.Header.Get(header) == "" {
				return nil, refusal
			}
			return &mcp.Principal{Subject: r.Header.Get(header)}, nil
		}
	}
	for name, test := range map[string]struct {
		header  http.Header
		subject string
		refused error
	}{
		"a key":   {http.Header{"Key": {"ann"}}, "ann", nil},
		"a token": {http.Header{"Token": {"bob"}}, "bob", nil},
		"both":    {http.Header{"Key": {"ann"}, "Token": {"bob"}}, "ann", nil},
		"none":    {http.Header{}, "", noToken},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header = test.header
		p, err := First(way("Key", noKey), way("Token", noToken))(r)
		if !errors.Is(err, test.refused) || p != nil && p.Subject != test.subject || (p == nil) != (test.refused != nil) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if p, err := First()(httptest.NewRequest(http.MethodPost, "/mcp", nil)); p != nil || err == nil {
		t.Errorf("without a way: %+v, %v", p, err)
	}
}
