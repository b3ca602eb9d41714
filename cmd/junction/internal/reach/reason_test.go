package reach_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/launch"
)

func TestSlowStartsNameTheReason(t *testing.T) {
	w := &launch.StartWatch{}
	listen := w.OnStderr(nil)
	for range 2 * launch.MaxStartLines {
		listen(strings.Repeat("retrying ", 200))
	}
	for line := range strings.SplitSeq("TypeError: fetch failed {\n  [cause]: Error: getaddrinfo ENOTFOUND mcp.stripe.com {\n    syscall: 'getaddrinfo'\n  }\n}\n", "\n") {
		listen(line)
	}
	if _, _, said := w.Progress(); said != "its standard error ends with: TypeError: fetch failed: getaddrinfo ENOTFOUND mcp.stripe.com" {
		t.Errorf("got %q", said)
	}
	if len(w.Said) > launch.MaxStartLines || len(w.Said[0]) > cli.MaxStderrLine*4 {
		t.Errorf("%d lines are kept, of %d bytes", len(w.Said), len(w.Said[0]))
	}
}
