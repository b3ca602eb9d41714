package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// serve returns the URL of a site that serves pages, by path: status or type, and text.
func serve(t *testing.T, pages map[string][2]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, there := pages[r.URL.Path]
		switch {
		case !there:
			http.NotFound(w, r)
		case page[0] == "":
			http.Redirect(w, r, page[1], http.StatusFound)
		default:
			w.Header().Set("Content-Type", page[0])
			fmt.Fprint(w, page[1])
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func read(t *testing.T, o Options, arguments map[string]any) (string, error) {
	t.Helper()
	return mcp.Call[string](context.Background(), mcp.NewClient(New(o)), "fetch", arguments)
}

func TestPagesAreReadAsMarkdown(t *testing.T) {
	at := serve(t, map[string][2]string{
		"/page":   {"text/html; charset=iso-8859-1", "<html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body><h1>Gr\xfc\xdfe</h1><p>A <a href='/x'>link</a> &amp; more.<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"},
		"/data":   {"application/json", `{"a": 1}`},
		"/image":  {"image/png", "\x89PNG"},
		"/moved":  {"", "/data"},
		"/around": {"", "/around"},
		"/long":   {"text/plain", strings.Repeat("äöü0123456", 1_000)},
	})
	o := Options{AllowPrivate: true}
	for _, test := range []struct {
		name      string
		arguments map[string]any
		want      []string // parts of the text; the first begins with "error: " for an error
		not       string
	}{
		{"HTML", map[string]any{"url": at + "/page"}, []string{"Contents of " + at + "/page:\n", "# Grüße", "[link](" + at + "/x)", "& more", "| a", "| 1"}, "alert"},
		{"as it is", map[string]any{"url": at + "/page", "raw": true}, []string{"<h1>Grüße</h1>", "alert"}, ""},
		{"JSON", map[string]any{"url": at + "/data#here"}, []string{`{"a": 1}`}, ""},
		{"behind a redirect", map[string]any{"url": at + "/moved"}, []string{"Contents of " + at + "/data:\n"}, ""},
		{"a part", map[string]any{"url": at + "/long", "max_length": 4}, []string{"characters 0 to 4 of 10000:\näöü0\n", "start_index 4]"}, "1"},
		{"the end", map[string]any{"url": at + "/long", "start_index": 9_990}, []string{"characters 9990 to 10000 of 10000:\näöü0123456"}, "read on"},
		{"behind the end", map[string]any{"url": at + "/long", "start_index": 10_000}, []string{"error: the page has 10000 characters"}, ""},
		{"no text", map[string]any{"url": at + "/image"}, []string{"error: is image/png, 4 bytes, not text"}, ""},
		{"not there", map[string]any{"url": at + "/none"}, []string{"error: answered 404 Not Found"}, ""},
		{"round and round", map[string]any{"url": at + "/around"}, []string{"error: more than 5 redirects"}, ""},
		{"a file", map[string]any{"url": "file:///etc/passwd"}, []string{"error: expected an http or https URL"}, ""},
		{"with a password", map[string]any{"url": "http://a:b@localhost/"}, []string{"error: must not have a user"}, ""},
	} {
		got, err := read(t, o, test.arguments)
		for _, want := range test.want {
			if text, wrong := strings.CutPrefix(want, "error: "); wrong {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s: got %q, %v, want an error with %q", test.name, got, err, text)
				}
			} else if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: got %q, %v, want %q in it", test.name, got, err, want)
			}
		}
		if test.not != "" && strings.Contains(strings.TrimPrefix(got, "Contents of "+at), test.not) && test.name != "a part" {
			t.Errorf("%s: %q is in %q", test.name, test.not, got)
		}
	}
}

func TestRobotsAreObeyed(t *testing.T) {
	at := serve(t, map[string][2]string{
		"/robots.txt":  {"text/plain", "User-agent: *\nDisallow: /private\n\nUser-agent: Junction\nDisallow: /secret\nAllow: /secret/open\nDisallow: /*?q="},
		"/secret":      {"text/plain", "s"},
		"/secret/open": {"text/plain", "o"},
		"/private":     {"text/plain", "p"},
		"/moved":       {"", "/secret"},
		"/search":      {"text/plain", "q"},
	})
	for page, refused := range map[string]bool{"/secret": true, "/secret/open": false, "/private": false, "/moved": true, "/search": false, "/search?q=1": true} {
		_, err := read(t, Options{AllowPrivate: true}, map[string]any{"url": at + page})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "robots.txt") {
			t.Errorf("%s: %v, want refused: %v", page, err, refused)
		}
	}
	if _, err := read(t, Options{AllowPrivate: true, IgnoreRobots: true}, map[string]any{"url": at + "/secret"}); err != nil {
		t.Error(err)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	if _, err := read(t, Options{AllowPrivate: true}, map[string]any{"url": broken.URL + "/x"}); err == nil {
		t.Error("a site whose rules cannot be read is read")
	}
}

func TestPrivateAddressesAreNotRead(t *testing.T) {
	at := serve(t, map[string][2]string{"/x": {"text/plain", "inside"}})
	for _, page := range []string{at + "/x", strings.Replace(at, "127.0.0.1", "localhost", 1) + "/x", strings.Replace(at, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/x"} {
		if got, err := read(t, Options{}, map[string]any{"url": page}); err == nil || !strings.Contains(err.Error(), "private network") && !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %q, %v", page, got, err)
		}
	}
	for address, public := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "10.0.0.1": false, "172.16.3.4": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false,
		"0.0.0.0": false, "100.64.1.1": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "ff02::1": false,
		"::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "2001:db8::1": false, "fd00:ec2::254": false, "::10.0.0.1": false, "::ffff:0:10.0.0.1": false, "3fff::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != public {
			t.Errorf("%s: public %v, want %v", address, got, public)
		}
	}
}
