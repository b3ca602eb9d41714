package integration

import (
	"slices"
	"strings"
	"testing"
)

// Every client meets every server over every transport, without Junction. It takes
// minutes and proves nothing about Junction: it is for finding out what a peer does, when
// a pin is raised or a cell of the bridge fails. JUNCTION_INTEGRATION_MATRIX=1 runs it.
func TestPeersMatrix(t *testing.T) {
	t.Parallel()
	skipOnChange(t)
	for _, server := range []struct{ name, over, flag, era string }{
		{"ts-v1", "stdio", "", "legacy"}, {"ts-v1", "http", "", "legacy"}, {"ts-v1", "sse", "", "legacy"},
		{"ts-v2", "stdio", "modern", "modern"}, {"ts-v2", "http", "modern", "modern"}, {"ts-v2", "stdio", "both", "legacy"},
		{"python", "stdio", "", "legacy"}, {"python", "http", "", "legacy"}, {"python", "sse", "", "legacy"},
		{"python", "stdio", "", "modern"}, {"python", "http", "", "modern"},
		{"gosdk", "stdio", "", "legacy"}, {"gosdk", "http", "legacy", "legacy"}, {"gosdk", "sse", "", "legacy"},
		{"gosdk", "stdio", "", "modern"}, {"gosdk", "http", "modern", "modern"},
		{"mcpgo", "stdio", "", "legacy"}, {"mcpgo", "http", "", "legacy"}, {"mcpgo", "sse", "", "legacy"},
		{"mcpgo", "stdio", "", "modern"}, {"mcpgo", "http", "", "modern"},
		{"rmcp", "stdio", "", "legacy"}, {"rmcp", "http", "", "legacy"}, {"rmcp", "stdio", "", "modern"}, {"rmcp", "http", "", "modern"},
	} {
		for _, client := range slices.Concat(probeClients, rustClients) {
			revision := legacyNewest
			if server.era == "modern" {
				revision = modern
			}
			if client.name == "ts-v1" && revision == modern {
				continue // it speaks legacy only
			}
			t.Run(strings.Join([]string{client.name, "to", server.name, server.over, server.era}, " "), func(t *testing.T) {
				t.Parallel()
				target := serverNamed(t, server.name).target(t, server.over, server.flag)
				cannot := together(serverCannot(server.name, server.over, server.era), clientCannot(client.name, server.over, revision))
				if client.name == "gosdk" && revision == modern && server.name != "gosdk" {
					cannot["the roots of the client are reported"] = "the Go client cannot read a roots question without params"
				}
				if client.name == "gosdk" && server.name == "mcpgo" && server.over == "http" && revision == modern {
					cannot["a cancelled call ends at the server"] = "mcp-go answers the cancellation with 400, and the Go client gives up"
				}
				runCases(t, client, target, revision, cannot)
			})
		}
	}
}
