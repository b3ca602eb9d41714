package httplink

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRedirectsStayWithTheServer(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"https://a.example/mcp", "https://a.example/x", ""},
		{"https://a.example/mcp", "https://A.example:443/x", ""},
		{"http://a.example/mcp", "https://a.example/mcp", ""},
		{"http://a.example:8080/mcp", "https://a.example/mcp", "redirected to another server, https://a.example/mcp; if that is right, use its URL"},
		{"https://a.example/mcp", "http://a.example/mcp", "redirected from https to http://a.example/mcp, which is not followed"},
		{"https://a.example/mcp", "https://b.example/mcp?token=s3cret", "redirected to another server, https://b.example/mcp; if that is right, use its URL"},
		{"https://a.example/mcp", "https://a.example:8443/mcp", "redirected to another server, https://a.example:8443/mcp; if that is right, use its URL"},
		{"https://a.example/mcp", "https://a.example.b.example/mcp", "redirected to another server, https://a.example.b.example/mcp; if that is right, use its URL"},
	} {
		first := &http.Request{Method: "POST", URL: mustParse(t, test.from)}
		next := &http.Request{Method: "POST", URL: mustParse(t, test.to)}
		got := ""
		if err := mayFollow(next, []*http.Request{first}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("from %s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestTheGivenClientsPolicyCountsToo(t *testing.T) {
	given := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c, own := client(given)
	r := &http.Request{Method: "POST", URL: mustParse(t, "https://a.example/")}
	if err := c.CheckRedirect(r, []*http.Request{r}); err != http.ErrUseLastResponse || own {
		t.Errorf("got %v", err)
	}
}

func TestNameShowsNoSecret(t *testing.T) {
	for in, want := range map[string]string{
		"https://me:s3cret@a.example:1/b/c?key=s3cret#s3cret": "https://a.example:1/b/c",
		"https://a.example/s/s3cret0123456789abcdef/mcp":      "https://a.example/s/***/mcp",
		"http://[::1]:80/\u202e":                              "http://[::1]:80/%E2%80%AE",
		"s3cret":                                              "a URL that cannot be read",
		"http://s3cret%zz/":                                   "a URL that cannot be read",
	} {
		if got := Name(in); got != want {
			t.Errorf("%s is named %s, want %s", in, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"Application/JSON; charset=utf-8":       "application/json",
		"text/event-stream;charset":             "text/event-stream",
		"text/event-stream; charset=a; charset": "text/event-stream",
		"not a type":                            "not a type",
	} {
		if got := MediaType(&http.Response{Header: http.Header{"Content-Type": {in}}}); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestStatusErrorIsBounded(t *testing.T) {
	e := &Endpoint{Name: "https://a.example/"}
	body := &counted{r: strings.NewReader(strings.Repeat("x\n", 10*maxErrorBody))}
	err, _ := e.StatusError(&http.Response{StatusCode: 500, Body: body})
	if len([]rune(err.Body)) != maxShown || body.n > 2*maxErrorBody || !body.closed {
		t.Errorf("%d runes shown, %d bytes read, closed %t", len([]rune(err.Body)), body.n, body.closed)
	}
}

// counted counts the bytes read from a body.
type counted struct {
	r      io.Reader
	n      int
	closed bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func (c *counted) Close() error {
	c.closed = true
	return nil
}

// A message of any length is read whole, announced or not, and keeps no memory of another one.
func TestReadMessage(t *testing.T) {
	const most = 300 << 10
	e := &Endpoint{MaxMessage: most}
	var kept [][]byte
	for i, n := range []int{1, shortMessage, shortMessage + 1, most, most + 1, 200 << 10, most} {
		for _, length := range []int64{int64(n), -1} {
			want := strings.Repeat(string(rune('a'+i)), n)
			got, err := e.ReadMessage(&http.Response{ContentLength: length, Body: io.NopCloser(strings.NewReader(want))})
			if n > most {
				if !errors.Is(err, ErrTooLong) {
					t.Errorf("%d bytes, announced %d: %v", n, length, err)
				}
				continue
			}
			if err != nil || string(got) != want {
				t.Errorf("%d bytes, announced %d: got %d, %v", n, length, len(got), err)
			}
			kept = append(kept, got)
		}
	}
	for _, got := range kept {
		if string(got) != strings.Repeat(string(got[:1]), len(got)) {
			t.Errorf("a message of %d bytes was overwritten", len(got))
		}
	}
}
