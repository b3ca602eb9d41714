package integration

import (
	"strings"
	"testing"
)

// TestBridge puts `junction proxy` between every kind of client and every kind of server:
// {legacy, modern} × {legacy, modern} × {stdio, HTTP} on either side. The cases are the
// ones that the peers pass with each other, and so must pass whole.
func TestBridge(t *testing.T) {
	t.Parallel()
	junction(t)
	for i, server := range []struct{ name, era, over string }{
		{"ts-v1", "legacy", "stdio"},
		{"ts-v1", "legacy", "http"},
		{"ts-v1", "legacy", "sse"},
		{"ts-v2", "modern", "stdio"},
		{"ts-v2", "modern", "http"},
		{"gosdk", "legacy", "http"},
		{"gosdk", "modern", "http"},
		{"python", "", "http"},
		{"mcpgo", "", "stdio"},
		{"rmcp", "", "stdio"},
		{"rmcp", "", "http"},
	} {
		for j, client := range bridgeClients(server.name, server.over) {
			for k, front := range client.fronts {
				if len(client.fronts) > 1 && (i+j+k)%2 > 0 && !matrix() {
					continue
				}
				name := strings.Join([]string{client.name, client.revision, front, "to", server.name, server.era, server.over}, " ")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					target := proxied(t, server.name, server.era, server.over, front)
					cannot := together(serverCannot(server.name, server.over, server.era), clientCannot(client.name, front, client.revision))
					runCases(t, clientNamed(t, client.name), target, client.revision, cannot)
				})
			}
		}
	}
}

type bridgeClient struct {
	name, revision string
	fronts         []string
}

// bridgeClients returns the clients that meet a server, and how: one of each era meets all
// over both transports; the others meet the two servers that stand for their era, over
// HTTP the one on stdio, and over stdio the one on HTTP.
func bridgeClients(server, over string) []bridgeClient {
	both := []string{"stdio", "http"}
	clients := []bridgeClient{{"ts-v1", legacyNewest, both}, {"ts-v2", modern, both}}
	front := map[string][]string{"stdio": {"http"}, "http": {"stdio"}}[over]
	if server != "ts-v1" && server != "ts-v2" || front == nil {
		return clients
	}
	return append(clients,
		bridgeClient{"gosdk", modern, front},
		bridgeClient{"gosdk", "2025-06-18", front},
		bridgeClient{"python", "2025-03-26", front},
		bridgeClient{"python", modern, front},
		bridgeClient{"mcpgo", modern, front},
		bridgeClient{"mcpgo", legacyNewest, front},
	)
}

// proxied puts `junction proxy` in front of a bridge server and returns the flags that
// lead a client to it.
func proxied(t testing.TB, server, era, over, front string) []string {
	t.Helper()
	behind := serverNamed(t, server)
	eraFlag := era
	if behind.name == "ts-v1" {
		eraFlag = "" // it has one era and no flag
	}
	direct := behind.target(t, over, eraFlag)
	address := freeAddress(t)
	argv := []string{junction(t), "proxy"}
	if over != "stdio" {
		argv = append(argv, direct[1])
	}
	if front == "http" {
		argv = append(argv, "--http", address)
	} else {
		argv = append(argv, "--stdio")
	}
	if over == "stdio" {
		argv = append(append(argv, "--"), direct[1:]...)
	}
	if front == "stdio" {
		return append([]string{"--stdio"}, argv...)
	}
	serving(t, isolated(t), address, argv...)
	return []string{"--http", "http://" + address + "/mcp"}
}
