package console

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/console/reply"
)

// opened serves a console with a route of its API, and returns it with its origin.
func opened(t *testing.T) (c *Console, origin string) {
	t.Helper()
	c = New()
	c.Handle("/echo", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			reply.Error(w, http.StatusRequestEntityTooLarge, err)
			return
		}
		reply.JSON(w, http.StatusOK, r.Method+" "+string(body))
	}))
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// asked returns the response to a request; headers are pairs.
func asked(t *testing.T, method, url, body string, headers ...string) (status int, text string, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

// entered lets a browser in, and returns the address of the page and the cookie.
func entered(t *testing.T, c *Console, origin string) (page, cookie string) {
	t.Helper()
	link := c.Link(origin, "")
	status, _, h := asked(t, "GET", link, "")
	page, _, _ = strings.Cut(link, "?")
	given, err := http.ParseSetCookie(h.Get("Set-Cookie"))
	if status != http.StatusOK || err != nil {
		t.Fatalf("the link gives %d and the cookie %q", status, h.Get("Set-Cookie"))
	}
	path, _ := url.Parse(page)
	if given.Path != path.Path || !given.HttpOnly || given.SameSite != http.SameSiteStrictMode || given.Domain != "" {
		t.Fatalf("the cookie is %q, want one of the path %s, HttpOnly and SameSite=Strict", h.Get("Set-Cookie"), path.Path)
	}
	return page, given.Name + "=" + given.Value
}

func TestALinkLetsOneBrowserIn(t *testing.T) {
	c, origin := opened(t)
	unused := c.Link(origin, "")
	link := c.Link(origin, "inspector/weather")
	if !strings.HasSuffix(link, "#/inspector/weather") {
		t.Errorf("the link is %s, without the view", link)
	}
	if status, _, _ := asked(t, "GET", unused, ""); status != http.StatusUnauthorized {
		t.Errorf("a link that another one replaced gets %d", status)
	}
	status, text, h := asked(t, "GET", link, "")
	if status != http.StatusOK || !strings.Contains(text, "enter.js") {
		t.Fatalf("the link gets %d:\n%s", status, text)
	}
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	status, text, h = asked(t, "GET", link, "")
	if status != http.StatusUnauthorized || h.Get("Set-Cookie") != "" || !strings.Contains(text, "press Enter") {
		t.Errorf("a second browser gets %d, the cookie %q, and\n%s", status, h.Get("Set-Cookie"), text)
	}
	if status, text, _ := asked(t, "GET", link, "", "Cookie", cookie); status != http.StatusOK || !strings.Contains(text, "enter.js") {
		t.Errorf("the browser that is in gets %d when it opens the link again:\n%s", status, text)
	}
}

func TestUnusedLinksExpire(t *testing.T) {
	for name, test := range map[string]struct {
		life time.Duration
		link func(*Console) (string, <-chan struct{})
	}{
		"printed": {printedTime, func(c *Console) (string, <-chan struct{}) { return c.Link("http://127.0.0.1:1", ""), nil }},
		"opened":  {openedTime, func(c *Console) (string, <-chan struct{}) { return c.OpenedLink("http://127.0.0.1:1", "") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for after, want := range map[time.Duration]int{test.life - time.Second: http.StatusOK, test.life + time.Second: http.StatusUnauthorized} {
					c := New()
					link, over := test.link(c)
					time.Sleep(after)
					w := httptest.NewRecorder()
					c.ServeHTTP(w, httptest.NewRequest("GET", link, nil))
					if w.Code != want {
						t.Errorf("after %v it gets %d, want %d", after, w.Code, want)
					}
					if over != nil {
						<-over // is closed when the link was used or is too old
					}
				}
			})
		})
	}
}

func TestAnOpenedLinkIsOverWhenAnotherTakesItsPlace(t *testing.T) {
	c := New()
	_, over := c.OpenedLink("http://127.0.0.1:1", "")
	c.Link("http://127.0.0.1:1", "")
	<-over
	_, over = c.OpenedLink("http://127.0.0.1:1", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Serve(ctx, l, nil); err != context.Canceled {
		t.Errorf("Serve ends with %v", err)
	}
	<-over
}

func TestNothingIsServedWithoutALink(t *testing.T) {
	c, origin := opened(t)
	page, cookie := entered(t, c, origin)
	for _, path := range []string{"", "index.html", "app.js", "style.css", "words/en.js", "api/v1/echo", "api/v1/nothing", "api/v1/", "?token=", "?token=x"} {
		for _, wrong := range []string{"", "junction=", "junction=x", "other=" + strings.TrimPrefix(cookie, "junction=")} {
			status, text, _ := asked(t, "GET", page+path, "", "Cookie", wrong)
			want := "This link lets nobody in"
			if strings.HasPrefix(path, "api/v1/") {
				want = `{"error":"expected the cookie that the link of this console gives"}`
			}
			if status != http.StatusUnauthorized || !strings.Contains(text, want) {
				t.Errorf("%q with the cookie %q gets %d: %.60s", path, wrong, status, text)
			}
		}
	}
	if status, _, _ := asked(t, "GET", origin+"/", "", "Cookie", cookie); status != http.StatusNotFound {
		t.Errorf("outside of its path the console answers %d", status)
	}
}

func TestOnlyTheConsolesOwnPageIsAnswered(t *testing.T) {
	c, origin := opened(t)
	page, cookie := entered(t, c, origin)
	host := strings.TrimPrefix(origin, "http://")
	_, port, _ := strings.Cut(host, ":")
	for name, test := range map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"its page reads":                                 {"GET", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		"its page writes":                                {"POST", []string{"Origin", origin, "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		"a program that has the cookie":                  {"POST", nil, http.StatusOK},
		"by the name localhost":                          {"GET", []string{"Host", "localhost:" + port}, http.StatusOK},
		"a page at another port, which is the same site": {"GET", []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		"a page elsewhere":                               {"GET", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a form of a page at another port":               {"POST", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		"a form of an old browser":                       {"POST", []string{"Origin", "http://localhost:1"}, http.StatusForbidden},
		"a page without an origin":                       {"POST", []string{"Origin", "null"}, http.StatusForbidden},
		"a browser that hides the origin":                {"POST", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusForbidden},
		"a name that was rebound":                        {"GET", []string{"Host", "evil.example:" + port}, http.StatusForbidden},
		"a name that looks like localhost":               {"GET", []string{"Host", "localhost.evil.example"}, http.StatusForbidden},
		"an address of the network":                      {"GET", []string{"Host", "192.168.1.2:" + port}, http.StatusForbidden},
		"another scheme":                                 {"POST", []string{"Origin", "https://" + host}, http.StatusForbidden},
		"two origins":                                    {"POST", []string{"Origin", origin, "Origin", "http://evil.example"}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			status, text, h := asked(t, test.method, page+"api/v1/echo", "x", append(test.headers, "Cookie", cookie)...)
			if status != test.want {
				t.Errorf("got %d: %s, want %d", status, text, test.want)
			}
			if h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the headers are %v", h)
			}
		})
	}
}

func TestLinksFromOtherPagesOpenThePage(t *testing.T) {
	c, origin := opened(t)
	link := c.Link(origin, "")
	elsewhere := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	if status, _, _ := asked(t, "GET", link, "", elsewhere...); status != http.StatusOK {
		t.Errorf("it gets %d", status)
	}
}

func TestFilesOfThePage(t *testing.T) {
	c, origin := opened(t)
	page, cookie := entered(t, c, origin)
	for path, want := range map[string]string{
		"": "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8",
		"icon.svg": "image/svg+xml", "words/zh.js": "text/javascript; charset=utf-8",
	} {
		status, text, h := asked(t, "GET", page+path, "", "Cookie", cookie)
		if status != http.StatusOK || h.Get("Content-Type") != want || text == "" {
			t.Errorf("%q gets %d, %q, %d bytes", path, status, h.Get("Content-Type"), len(text))
		}
	}
	for _, path := range []string{"words", "words/", "../console.go", "%2e%2e/console.go", "nothing.js", "api/v1/nothing"} {
		if status, _, _ := asked(t, "GET", page+path, "", "Cookie", cookie); status == http.StatusOK {
			t.Errorf("%q is served", path)
		}
	}
}

func TestARequestHasALimit(t *testing.T) {
	c, origin := opened(t)
	page, cookie := entered(t, c, origin)
	if status, _, _ := asked(t, "POST", page+"api/v1/echo", strings.Repeat("x", maxBody+1), "Cookie", cookie); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body above the limit gets %d", status)
	}
}
