package integration

import (
	"slices"
	"testing"
)

// The peers work with each other. Where they do not, what fails through Junction is not
// Junction's fault; each exception is a fact about a peer that README.md tells.
func TestPeersWorkWithEachOther(t *testing.T) {
	t.Parallel()
	skipOnChange(t) // Junction is not in it
	for _, tt := range []struct{ client, server, over, era, revision string }{
		{"ts-v1", "ts-v1", "stdio", "", legacyNewest},
		{"ts-v1", "ts-v1", "http", "", "2025-06-18"},
		{"ts-v1", "ts-v1", "sse", "", legacyNewest},
		{"ts-v2", "ts-v1", "http", "", legacyNewest},
		{"ts-v2", "ts-v2", "stdio", "modern", modern},
		{"ts-v2", "ts-v2", "http", "modern", modern},
		{"ts-v2", "python", "http", "", modern},
		{"ts-v2", "gosdk", "http", "modern", modern},
		{"python", "ts-v2", "http", "modern", modern},
		{"python", "python", "stdio", "", modern},
		{"python", "python", "http", "", legacyNewest},
		{"python", "python", "sse", "", "2024-11-05"},
		{"gosdk", "gosdk", "stdio", "", modern},
		{"gosdk", "gosdk", "http", "legacy", legacyNewest},
		{"gosdk", "gosdk", "http", "modern", modern},
		{"gosdk", "gosdk", "sse", "", "2025-06-18"},
		{"mcpgo", "mcpgo", "stdio", "", modern},
		{"mcpgo", "mcpgo", "http", "", modern},
		{"mcpgo", "mcpgo", "http", "", legacyNewest},
		{"mcpgo", "mcpgo", "sse", "", "2024-11-05"},
		{"rmcp", "rmcp", "stdio", "", modern},
		{"rmcp", "rmcp", "stdio", "legacy", legacyNewest},
		{"rmcp", "rmcp", "http", "", modern},
		{"rmcp", "rmcp", "http", "", "2025-06-18"},
		{"ts-v1", "rmcp", "http", "", legacyNewest},
		{"ts-v2", "rmcp", "stdio", "modern", modern},
	} {
		name := tt.client + " to " + tt.server + " over " + tt.over + " at " + tt.revision
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			era := "legacy"
			if tt.revision == modern {
				era = "modern"
			}
			target := serverNamed(t, tt.server).target(t, tt.over, tt.era)
			cannot := together(serverCannot(tt.server, tt.over, era), clientCannot(tt.client, tt.over, tt.revision))
			runCases(t, clientNamed(t, tt.client), target, tt.revision, cannot)
		})
	}
}

// Each client speaks every revision that it is said to speak.
func TestPeersSpeakTheirRevisions(t *testing.T) {
	t.Parallel()
	for _, client := range slices.Concat(probeClients, rustClients) {
		for _, revision := range client.revisions {
			t.Run(client.name+" at "+revision, func(t *testing.T) {
				t.Parallel()
				target := serverNamed(t, "gosdk").target(t, "stdio", "")
				lines := client.run(t, target, revision, []step{{"op": "list"}}, willing)
				if lines[0].Revision != revision {
					t.Errorf("negotiated %s", lines[0].Revision)
				}
				verifyListing(t, lines[1:])
			})
		}
	}
}

// The reference server of the project answers a client of the project.
func TestPeersReachTheReferenceServer(t *testing.T) {
	t.Parallel()
	everything := npm(t, "servers", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	target := []string{"--stdio", node(t), everything, "stdio"}
	echo := step{"op": "call", "name": "echo", "arguments": map[string]any{"message": "hi"}}
	lines := clientNamed(t, "ts-v2").run(t, target, "", []step{{"op": "list"}, echo}, willing)
	if !slices.Contains(lines[1].Tools, "get-sum") {
		t.Errorf("tools are %q", lines[1].Tools)
	}
	says("Echo: hi")(t, lines[2:])
}
