package httplink

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// loggingIn repeats a request with a token if it needs one.
type loggingIn struct{ next http.RoundTripper }

func (l loggingIn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	again := r.Clone(r.Context())
	again.Header.Set("Authorization", "Bearer s3cretvalue")
	again.Body, err = r.GetBody()
	if err != nil {
		return nil, err
	}
	return l.next.RoundTrip(again)
}

func TestEachRoundTripIsNoted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/old":
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer scope="a"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	facts := regexp.MustCompile(`"url":"http://[^/]+([^"]+)"|"(Authorization)":\["([^"]+)"\]|"status":(\d+)|"(Location)"|"(Www-Authenticate)"`)
	login := []string{"/new", "401", "Www-Authenticate", "/new", "Authorization", "***", "200"}
	moved := []string{"/old", "307", "Location"}
	for _, test := range []struct {
		name, origin, path string
		client             http.Client
		want               [][]string
	}{
		{"one round trip", server.URL, "/new", http.Client{Transport: http.DefaultTransport}, [][]string{{"/new", "401", "Www-Authenticate"}}},
		{"a redirect", server.URL, "/old", http.Client{Transport: http.DefaultTransport}, [][]string{moved, {"/new", "401", "Www-Authenticate"}}},
		{"a redirect, with a time limit", server.URL, "/old", http.Client{Timeout: time.Minute}, [][]string{moved, {"/new", "401", "Www-Authenticate"}}},
		{"a login", server.URL, "/new", http.Client{Transport: loggingIn{Noted(http.DefaultTransport)}}, [][]string{login[:3], login[3:]}},
		{"a redirect and a login", server.URL, "/old", http.Client{Transport: loggingIn{Noted(http.DefaultTransport)}}, [][]string{moved, login[:3], login[3:]}},
		{"a login that nothing below notes", server.URL, "/new", http.Client{Transport: loggingIn{http.DefaultTransport}}, [][]string{{"/new", "200"}}},
		{"no response", gone.URL, "/new", http.Client{Transport: loggingIn{Noted(http.DefaultTransport)}}, [][]string{{"/new"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := New(test.origin+test.path, Options{HTTP: &test.client})
			if err != nil {
				t.Fatal(err)
			}
			var n noted
			at, err := url.Parse(test.origin + test.path)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := e.Do(mcp.WithNoteObserver(t.Context(), &n), http.MethodPost, at, http.Header{}, []byte(`{}`)); err == nil {
				resp.Body.Close()
			}
			var got [][]string
			for _, note := range n {
				var one []string
				for _, found := range facts.FindAllStringSubmatch(note, -1) {
					one = append(one, slices.DeleteFunc(found[1:], func(s string) bool { return s == "" })...)
				}
				got = append(got, one)
			}
			if !slices.EqualFunc(got, test.want, slices.Equal) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
