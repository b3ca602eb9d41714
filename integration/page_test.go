package integration

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/internal/replay"
)

// pageTalk is what a model says that reads a page after it pressed the button there.
func pageTalk(url string) []replay.Turn {
	press := saying("%s", `button "Measure" \[ref=(\w+)\]`)
	return []replay.Turn{
		{
			Expect: replay.Expect{Last: "user", Contains: []string{"pressure"}, Tools: []string{"search_tools"}},
			Calls:  callOf("search_tools", object{"queries": []string{"navigate to a URL", "snapshot of the page", "click on the page"}}),
		},
		{Expect: replay.Expect{Last: "tool", Tools: []string{"browser_navigate", "browser_snapshot"}}, Calls: callOf("browser_navigate", object{"url": url})},
		{Expect: returned(), Calls: callOf("browser_snapshot", nil)},
		{Expect: returned("Measure"), Then: func(results []string) replay.Turn {
			return replay.Turn{Calls: callOf("browser_click", object{"element": "the button", "target": press(results).Text})}
		}},
		{Expect: returned(), Calls: callOf("browser_snapshot", nil)},
		{Expect: returned("The pressure is"), Then: saying("It is %s.", `The pressure is ([A-Z0-9]+)`)},
	}
}

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
	chat := newChat(t, map[string][]string{"browser": browser}, pageTalk(page.URL),
		"--approve", "browser", "--allow", "browser/browser_*")
	stdout, stderr, code := chat.ask(t, "What is the pressure on the page "+page.URL+"?")
	if want := "It is " + value + ".\n"; code != 0 || stdout != want {
		t.Fatalf("exit code %d, printed %q, want %q\nstderr: %.4000s", code, stdout, want, stderr)
	}
}
