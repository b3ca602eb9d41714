package watch_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/console"
)

// Whatever listens at the socket of a process, it has no page, script or cookie at the console's address.
func TestAnAnswerOfAProcessIsOnlyData(t *testing.T) {
	clitest.Alone(t)
	folder, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(folder, "7"+cli.ControlSuffix))
	if err != nil {
		t.Skip(err)
	}
	process := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"Set-Cookie": "junction=chosen", "Clear-Site-Data": `"*"`, "Access-Control-Allow-Origin": "*", "Location": "https://example.com/", "Link": "</x>; rel=preload"} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		switch r.URL.Path {
		case "/api/half":
			w.Header().Set("Content-Length", "100")
		case "/api/end":
			l.Close()
			panic(http.ErrAbortHandler)
		case "/api/reset":
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "<script>alert(1)</script>")
	})}
	go process.Serve(l)
	defer process.Close()
	c := console.New()
	c.Handle("/instances/{pid}/{rest...}", watch.ForwardHandler(clitest.PlaceOf(t)))
	served := httptest.NewServer(c)
	defer served.Close()
	link := c.Link(served.URL, "")
	entered, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	entered.Body.Close()
	page, _, _ := strings.Cut(link, "?")
	get := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", page+"api/v1/instances/7/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(entered.Cookies()[0])
		return http.DefaultTransport.RoundTrip(r)
	}
	for kind, want := range map[string]string{
		"text/html": "text/plain; charset=utf-8", "text/javascript": "text/plain; charset=utf-8", "image/svg+xml": "text/plain; charset=utf-8", "application/json;x": "text/plain; charset=utf-8",
		"application/json": "application/json", "application/json; charset=utf-8": "application/json",
	} {
		resp, err := get("x?type=" + url.QueryEscape(kind))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != want || resp.StatusCode != http.StatusOK || len(resp.Header["Content-Security-Policy"]) != 1 || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s gets %d, with %v", kind, resp.StatusCode, resp.Header)
		}
		for _, name := range []string{"Set-Cookie", "Clear-Site-Data", "Access-Control-Allow-Origin", "Location", "Link"} {
			if got := resp.Header.Get(name); got != "" {
				t.Errorf("%s: %s reaches the browser", name, got)
			}
		}
	}
	if resp, err := get("half"); err == nil {
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("half an answer reaches the browser as a whole one: %q", text)
		}
	}
	for _, tt := range []struct {
		path string
		want int
	}{{"reset", http.StatusBadGateway}, {"end", http.StatusGone}} {
		resp, err := get(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("a process that sends no answer to %s: %d, want %d", tt.path, resp.StatusCode, tt.want)
		}
	}
}
