package rebinding

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCheck(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	socket := &net.UnixAddr{Name: "/run/mcp.sock", Net: "unix"}
	for _, c := range []struct {
		name    string
		guard   Guard
		local   net.Addr
		host    string
		origins []string
		want    bool
	}{
		{"localhost reaches a loopback address", Guard{}, loopback, "localhost:8080", nil, true},
		{"LOCALHOST reaches a loopback address", Guard{}, loopback, "LOCALHOST", nil, true},
		{"127.0.0.1 reaches a loopback address", Guard{}, loopback, "127.0.0.1:8080", nil, true},
		{"[::1] reaches a loopback address", Guard{}, loopback, "[::1]:8080", nil, true},
		{"[::1] without a port reaches a loopback address", Guard{}, loopback, "[::1]", nil, true},
		{"another name does not reach a loopback address", Guard{}, loopback, "evil.example:8080", nil, false},
		{"a name that begins like localhost is another name", Guard{}, loopback, "localhost.evil.example", nil, false},
		{"an empty host does not reach a loopback address", Guard{}, loopback, "", nil, false},
		{"an allowed name reaches a loopback address", Guard{Hosts: []string{"mcp.example"}}, loopback, "mcp.example:8080", nil, true},
		{"localhost stays allowed beside allowed names", Guard{Hosts: []string{"mcp.example"}}, loopback, "localhost", nil, true},
		{"a star allows every name", Guard{Hosts: []string{"*"}}, loopback, "evil.example", nil, true},
		{"any name reaches a public address", Guard{}, public, "mcp.example", nil, true},
		{"only allowed names reach a public address once there are some", Guard{Hosts: []string{"mcp.example"}}, public, "other.example", nil, false},
		{"any name reaches a unix socket", Guard{}, socket, "x", nil, true},

		{"the server's own origin is allowed", Guard{}, public, "mcp.example:8080", []string{"https://mcp.example:8080"}, true},
		{"another port is another origin", Guard{}, public, "mcp.example:8080", []string{"https://mcp.example"}, false},
		{"an origin on localhost is allowed", Guard{}, loopback, "localhost:8080", []string{"http://localhost:3000"}, true},
		{"a foreign origin is refused", Guard{}, loopback, "localhost:8080", []string{"https://evil.example"}, false},
		{"the null origin is refused", Guard{}, loopback, "localhost:8080", []string{"null"}, false},
		{"an empty origin is refused", Guard{}, loopback, "localhost:8080", []string{""}, false},
		{"an origin with another scheme is refused", Guard{}, loopback, "localhost:8080", []string{"file://localhost"}, false},
		{"an allowed origin is allowed", Guard{Origins: []string{"https://app.example"}}, loopback, "localhost", []string{"https://app.example"}, true},
		{"a star allows every origin", Guard{Origins: []string{"*"}}, loopback, "localhost", []string{"https://evil.example"}, true},
		{"two origins are refused", Guard{}, loopback, "localhost", []string{"http://localhost", "http://localhost"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
			r.Host = c.host
			if c.origins != nil {
				r.Header["Origin"] = c.origins
			}
			if err := c.guard.Check(r); (err == nil) != c.want {
				t.Errorf("got %v, want allowed: %v", err, c.want)
			}
		})
	}
}
