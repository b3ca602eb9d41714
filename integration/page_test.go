package integration

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const pageTalk = `{"turns": [
  {"expect": {"last": "user", "contains": ["pressure"], "tools": ["search_tools"]},
   "calls": [{"name": "search_tools", "arguments": {"queries": ["navigate to a URL", "snapshot of the page", "click on the page"]}}]},
  {"expect": {"last": "tool", "tools": ["browser_navigate", "browser_snapshot"]},
   "calls": [{"name": "browser_navigate", "arguments": {"url": "{url}"}}]},
  {"expect": {"last": "tool"}, "calls": [{"name": "browser_snapshot", "arguments": {}}]},
  {"expect": {"last": "tool", "contains": ["Measure"]},
   "calls": [{"name": "browser_click", "arguments": {"element": "the button", "target": "${match(result, ` + "`button \\\"Measure\\\" \\\\[ref=(\\\\w+)\\\\]`" + `)}"}}]},
  {"expect": {"last": "tool"}, "calls": [{"name": "browser_snapshot", "arguments": {}}]},
  {"expect": {"last": "tool", "contains": ["The pressure is"]}, "text": "It is ${match(result, ` + "`The pressure is ([A-Z0-9]+)`" + `)}."}
]}`

// The model opens a page in a browser, presses a button, and answers with what is there
// then. The value exists nowhere but on the page.
func TestPageIsReadInABrowser(t *testing.T) {
	t.Parallel()
	value := rand.Text()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Gauge</title><h1>Gauge</h1><button onclick="out.textContent='The pressure is '+'%s'">Measure</button><p id="out">Nothing was measured.</p>`, value)
	}))
	t.Cleanup(page.Close)
	browser := npmServer("@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated",
		"--executable-path", program(t, "chromium"), "--output-dir", t.TempDir())(t)
	chat := newChat(t, map[string][]string{"browser": browser}, strings.ReplaceAll(pageTalk, "{url}", page.URL),
		"--approve", "browser", "--allow", "browser/browser_*")
	stdout, stderr, code := chat.ask(t, "What is the pressure on the page "+page.URL+"?")
	if want := "It is " + value + ".\n"; code != 0 || stdout != want {
		t.Fatalf("exit code %d, printed %q, want %q\nstderr: %.4000s", code, stdout, want, stderr)
	}
}
