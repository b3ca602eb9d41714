package passed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
)

func ring(t *testing.T, key byte) *seal.Ring {
	r, err := seal.NewRing(bytes.Repeat([]byte{key}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A header is valid for the request that it was made for, with the keys of the replicas, and for a
// short time.
func TestOnlyTheSameRequestIsAccepted(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		change func(*http.Request)
		key    byte
		after  time.Duration
		body   string
		want   bool
	}{
		"the same":                    {want: true},
		"a minute later":              {after: skewTime, want: true},
		"a clock that is behind":      {after: -skewTime, want: true},
		"too late":                    {after: skewTime + time.Millisecond},
		"too early":                   {after: -skewTime - time.Millisecond},
		"another key":                 {key: 2},
		"another body":                {body: "{}"},
		"another method":              {change: func(r *http.Request) { r.Method = "GET" }},
		"another path":                {change: func(r *http.Request) { r.URL.Path = "/mcp/team" }},
		"a query":                     {change: func(r *http.Request) { r.URL.RawQuery = "a=b" }},
		"credentials of another user": {change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer other") }},
		"another session":             {change: func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "other") }},
		"another method of MCP":       {change: func(r *http.Request) { r.Header.Set("Mcp-Method", "server/discover") }},
		"another revision":            {change: func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2025-03-26") }},
		"another event":               {change: func(r *http.Request) { r.Header.Set("Last-Event-Id", "a-1") }},
		"the older form":              {change: func(r *http.Request) { r.Header.Set(Header, "1") }},
		"none":                        {change: func(r *http.Request) { r.Header.Del(Header) }},
		"two":                         {change: func(r *http.Request) { r.Header.Add(Header, r.Header.Get(Header)) }},
		"too long":                    {change: func(r *http.Request) { r.Header.Set(Header, strings.Repeat("A", maxHeader+1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer key")
			if err := Seal(ring(t, 1), r, []byte("body"), json.RawMessage(`{"x":1}`), now); err != nil {
				t.Fatal(err)
			}
			if test.change != nil {
				test.change(r)
			}
			n, err := Open(ring(t, max(1, test.key)), r, now.Add(test.after))
			body := "body"
			if test.body != "" {
				body = test.body
			}
			if err == nil {
				if _, failed := io.ReadAll(n.Reader(io.NopCloser(strings.NewReader(body)))); (failed == nil) != n.Has([]byte(body)) {
					t.Errorf("reading: %v", failed)
				}
			}
			switch got := err == nil && n.Has([]byte(body)); {
			case got != test.want:
				t.Errorf("accepted %t: %v", got, err)
			case got && string(n.About) != `{"x":1}`:
				t.Errorf("about %s", n.About)
			case err != nil && !errors.Is(err, ErrRefused):
				t.Error(err)
			}
		})
	}
}

func TestTooMuchAboutARequestIsAnError(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp", nil)
	if err := Seal(ring(t, 1), r, nil, make(json.RawMessage, MaxAbout+1), time.Now()); err == nil || Is(r) {
		t.Error(err)
	}
	about := json.RawMessage(`"` + strings.Repeat("a", MaxAbout-2) + `"`)
	if err := Seal(ring(t, 1), r, nil, about, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ring(t, 1), r, time.Now()); err != nil {
		t.Errorf("the largest: %v", err)
	}
}

// A URL without a path, as a replica names it, is the path / at the other one.
func TestAnOriginIsItsRoot(t *testing.T) {
	r, err := http.NewRequest("GET", "http://127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Seal(ring(t, 1), r, nil, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	r.URL.Path = "/"
	if _, err := Open(ring(t, 1), r, time.Now()); err != nil {
		t.Error(err)
	}
}
