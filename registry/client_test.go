package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func fixedToken(token string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return token, nil }
}

// answers is a transport with a sequence of results.
type answers []func() (*http.Response, error)

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return next()
}

func status(code int, header, body string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		r := &http.Response{StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
		if name, value, found := strings.Cut(header, ": "); found {
			r.Header.Set(name, value)
		}
		return r, nil
	}
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	const empty = `{"servers":[],"metadata":{}}`
	refused := func() (*http.Response, error) { return nil, errors.New("connection refused") }
	for name, test := range map[string]struct {
		answers answers
		took    time.Duration
		want    string // part of the error; "" means none
	}{
		"at once":           {answers{status(200, "", empty)}, 0, ""},
		"a busy one":        {answers{status(503, "", ""), status(502, "", ""), status(200, "", empty)}, 1500 * time.Millisecond, ""},
		"as it asks":        {answers{status(429, "Retry-After: 7", ""), status(200, "", empty)}, 7 * time.Second, ""},
		"not for an hour":   {answers{status(429, "Retry-After: 3600", ""), status(200, "", empty)}, lastPause, ""},
		"no nonsense":       {answers{status(429, "Retry-After: -5", ""), status(200, "", empty)}, firstPause, ""},
		"at most":           {answers{refused, refused, refused}, 1500 * time.Millisecond, "registry https://r.example cannot be reached: connection refused"},
		"no refusal":        {answers{status(401, "", `{"detail":"no token"}`)}, 0, "registry https://r.example needs a token with access; it answers 401 Unauthorized: no token"},
		"no bad request":    {answers{status(400, "", `{"errors":[{"message":"a"},{"message":"b"}]}`)}, 0, "registry https://r.example answers 400 Bad Request: a; b"},
		"no redirect":       {answers{status(302, "Location: http://r.example/x", "")}, 0, "registry https://r.example cannot be reached: it redirects from https to http://r.example"},
		"no answer to read": {answers{status(200, "", "<html>")}, 0, `registry https://r.example does not answer like a registry`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHTTP()
				h.Transport = &test.answers
				c, err := NewClient("https://r.example/v0.1/servers", ClientOptions{HTTP: h})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = c.List(t.Context(), ListRequest{})
				if (test.want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
}

func TestTokensAreSentOverHTTPSOnly(t *testing.T) {
	for address, want := range map[string]string{
		"https://r.example":     "",
		"http://127.0.0.1:99":   "",
		"http://[::1]:99/x":     "",
		"http://r.example":      "registry http://r.example: a token is sent over https only, or to this machine; change the URL to https",
		"ftp://r.example":       `registry "ftp://r.example": expected a URL such as https://registry.example.com`,
		"https://a:b@r.example": `registry "https://a:b@r.example": expected a URL such as https://registry.example.com`,
		"r.example":             `registry "r.example": expected a URL such as https://registry.example.com`,
	} {
		_, err := NewClient(address, ClientOptions{Token: fixedToken("x")})
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	for token, want := range map[string]string{"two words": "its token", "": "its token", "a\nb": "its token"} {
		c, err := NewClient("https://r.example", ClientOptions{Token: fixedToken(token)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.List(t.Context(), ListRequest{}); err == nil || !strings.Contains(err.Error(), want) || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// TestARedirectToAnotherHostHasNoToken checks that a redirect of a private registry to another host
// does not send the token there.
func TestARedirectToAnotherHostHasNoToken(t *testing.T) {
	heard := "nothing"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"servers":[]}`)
	}))
	defer other.Close()
	f := newFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		return true
	}
	c, err := NewClient(f.URL, ClientOptions{Token: fixedToken("sesame")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context(), ListRequest{}); err != nil || heard != "" {
		t.Errorf("the other host heard %q, and the client %v", heard, err)
	}
}
