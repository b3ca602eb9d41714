package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test of docs follows the tutorial: it installs the server from npm, and starts Chromium in a sandbox.
func TestTheTutorialAboutABrowser(t *testing.T) {
	if chromium := program(t, "chromium"); chromium != "/usr/bin/chromium" {
		missing(t, "the page names /usr/bin/chromium, not %s; package chromium of Debian not installed", chromium)
	}
	program(t, "npm")
	cmd := exec.Command("go", "test", "./docs", "-count=1", "-v", "-run", "^TestTutorials$/^tutorial-browser")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "JUNCTION_TUTORIAL_BROWSER=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestTutorials/tutorial-browser.md") {
		t.Errorf("%v\n%s", err, out)
	}
}
