package streamable

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPeersThatCannotBeReachedAreReportedOnce(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := newFixture(t)
	o := sharedOptions(oneKey)
	var printed bytes.Buffer // written while a request waits for its response
	o.Peers, o.Logger = func() []string { return []string{gone.URL + "/mcp"} }, slog.New(slog.NewTextHandler(&printed, nil))
	here := newSite(t, f.Server, o)
	session := []string{"Mcp-Session-Id", here.handshake("2025-06-18")}
	for range 3 {
		here.read(here.do("POST", `{"jsonrpc":"2.0","id":"elsewhere","result":{}}`, session...))
	}
	if got := strings.Count(printed.String(), "a peer cannot be reached"); got != 1 || !strings.Contains(printed.String(), gone.URL) || !strings.Contains(printed.String(), "level=WARN") {
		t.Errorf("printed is %q", printed.String())
	}
}
