package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

func TestAStartThatTakesTooLongSaysWhatMatters(t *testing.T) {
	w := &startWatch{}
	listen := w.listen(nil)
	for range 2 * linesKept {
		listen(strings.Repeat("retrying ", 200))
	}
	for line := range strings.SplitSeq("TypeError: fetch failed {\n  [cause]: Error: getaddrinfo ENOTFOUND mcp.stripe.com {\n    syscall: 'getaddrinfo'\n  }\n}\n", "\n") {
		listen(line)
	}
	if _, _, said := w.seen(); said != "its standard error ends with: TypeError: fetch failed: getaddrinfo ENOTFOUND mcp.stripe.com" {
		t.Errorf("got %q", said)
	}
	if len(w.said) > linesKept || len(w.said[0]) > cli.MaxSaid*4 {
		t.Errorf("%d lines are kept, of %d bytes", len(w.said), len(w.said[0]))
	}
}
