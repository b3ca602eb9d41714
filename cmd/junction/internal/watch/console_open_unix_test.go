//go:build unix

package watch_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/internal/process/processtest"
)

// Everybody on the machine can read what a browser is started with, so the token is in a file of this user's.
func TestABrowserIsStartedWithoutTheToken(t *testing.T) {
	clitest.Alone(t)
	said := filepath.Join(t.TempDir(), "said")
	if err := syscall.Mkfifo(said, 0o600); err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "browser")
	processtest.WriteProgram(t, program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > '"+said+"'\n"), 0o700)
	clitest.Setenv(t, "JUNCTION_BROWSER", program)
	c := console.New()
	served := httptest.NewServer(c)
	defer served.Close()
	link, over := c.OpenedLink(served.URL, "inspector/weather")
	var opening sync.WaitGroup
	watch.OpenLink(t.Context(), (&cli.App{Place: clitest.PlaceOf(t)}), link, over, &opening)
	words, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := url.Parse(strings.TrimSpace(string(words)))
	if err != nil || opened.Scheme != "file" || opened.RawQuery != "" || strings.Contains(string(words), "token") {
		t.Fatalf("the browser is started with %q, %v", words, err)
	}
	page, err := os.ReadFile(opened.Path)
	if err != nil || !strings.Contains(string(page), `content="0; url=`+link+`"`) || !strings.HasSuffix(link, "#/inspector/weather") {
		t.Errorf("the page is %s, %v; want one that goes on to %s", page, err, link)
	}
	for path, want := range map[string]os.FileMode{opened.Path: 0o600, filepath.Dir(opened.Path): 0o700} {
		if is, err := os.Stat(clitest.In(t, path)); err != nil || is.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v, want %v", path, is.Mode().Perm(), err, want)
		}
	}
	entered, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	entered.Body.Close()
	opening.Wait()
	if _, err := os.Stat(opened.Path); !os.IsNotExist(err) {
		t.Errorf("the page stays after the link was used: %v", err)
	}
}
