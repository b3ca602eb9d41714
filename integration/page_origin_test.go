package integration

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A page of another origin is a client of `junction up --allow-origin`, in a real browser. A page of an origin that is not allowed is none.
func TestPageOfAnotherOriginIsAClient(t *testing.T) {
	t.Parallel()
	const talk = "junction\na session\n202\n200 text/event-stream\ntools\n3\n3 before Counted to 3.\n404\n204"
	for _, test := range []struct {
		name           string
		allowed, keyed bool
		want           string
	}{
		{"without authentication", true, false, talk},
		{"with a key", true, true, "without a key 401 with a challenge\n" + talk},
		{"that is not allowed", false, false, "TypeError: Failed to fetch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 1)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/got" {
					body, _ := io.ReadAll(r.Body)
					got <- string(body)
					return
				}
				http.ServeFile(w, r, "page/origin.html")
			}))
			t.Cleanup(site.Close)
			env, binary, address := isolated(t), junction(t), freeAddress(t)
			origin := site.URL
			if !test.allowed {
				origin = "https://app.example"
			}
			argv := []string{binary, "up", "everything", "--http", address, "--allow-origin", origin}
			values := url.Values{"endpoint": {"http://" + address + "/mcp"}}
			if test.keyed {
				argv = append(argv, "--auth", "keys")
				values.Set("key", strings.TrimSpace(run(t, env, binary, "key", "create", "page")))
			}
			serving(t, env, address, argv...)
			browse(t, site.URL+"/?"+values.Encode())
			select {
			case said := <-got:
				if said != test.want {
					t.Errorf("the page got\n%s\nwant\n%s", said, test.want)
				}
			case <-time.After(30 * time.Second):
				t.Error("the page reported nothing")
			}
		})
	}
}

// browse opens a page in a browser, which ends with the test.
func browse(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	browser := exec.CommandContext(ctx, program(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", address)
	browser.Env = append(os.Environ(), "HOME="+t.TempDir())
	inGroup(browser)
	if err := browser.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = browser.Wait()
	})
}
