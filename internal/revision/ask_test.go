package revision_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/revision"
)

func TestCannotAsk(t *testing.T) {
	for text, want := range map[string]bool{
		// Python SDK 2.3.0, FastMCP 4.2.3 (the second: on a session)
		"Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.":                true,
		"elicitation via server-initiated requests is unavailable on 2026-07-28 connections.":                                        true,
		"Tool returned an InputRequiredResult, but the multi-round-trip result type only exists at MCP 2026-07-28; use ctx.elicit()": true,
		"elicitation needs a session":                              true,
		"Sampling is not supported in stateless mode":              true,
		"roots/list is a server-to-client request":                 true,
		"the user declined the elicitation":                        false,
		"Client does not support sampling":                         false,
		"your session has expired, log in again":                   false,
		"the file changed on 2026-07-28":                           false,
		"":                                                         false,
		"elicitation needs a session" + strings.Repeat(".", 1<<10): false,
	} {
		if got := revision.CannotAsk(text); got != want {
			t.Errorf("%.90q: %t", text, got)
		}
	}
}
