package rebinding

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A wrapped address belongs to a listener of another program.
type wrapped struct{ net.Addr }

func TestCheck(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	mapped := &net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1"), Port: 8080}
	linkLocal := &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8080, Zone: "eth0"}
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
		{"localhost stays allowed in addition to allowed names", Guard{Hosts: []string{"mcp.example"}}, loopback, "localhost", nil, true},
		{"a star allows every name", Guard{Hosts: []string{"*"}}, loopback, "evil.example", nil, true},
		{"another name does not reach a public address", Guard{}, public, "mcp.example", nil, false},
		{"its own address reaches a public address", Guard{}, public, "192.0.2.1:8080", nil, true},
		{"its own address reaches it over IPv6", Guard{}, mapped, "192.0.2.1:8080", nil, true},
		{"its own IPv6 address reaches it", Guard{}, linkLocal, "[fe80::1]:8080", nil, true},
		{"another address does not", Guard{}, public, "192.0.2.2:8080", nil, false},
		{"localhost reaches a public address through a forwarded port", Guard{}, public, "localhost:8080", nil, true},
		{"an allowed name reaches a public address", Guard{Hosts: []string{"mcp.example"}}, public, "mcp.example", nil, true},
		{"only allowed names do", Guard{Hosts: []string{"mcp.example"}}, public, "other.example", nil, false},
		{"a star allows every name there too", Guard{Hosts: []string{"*"}}, public, "other.example", nil, true},
		{"nothing is known of the address", Guard{}, nil, "mcp.example", nil, false},
		{"an address that a listener wrapped", Guard{}, wrapped{public}, "192.0.2.1", nil, true},
		{"a name for an address that a listener wrapped", Guard{}, wrapped{public}, "mcp.example", nil, false},
		{"any name reaches a unix socket", Guard{}, socket, "x", nil, true},

		{"a rebound page is refused on a public address", Guard{}, public, "evil.example:8080", []string{"http://evil.example:8080"}, false},
		{"a rebound page is refused on a loopback address", Guard{}, loopback, "evil.example:8080", []string{"http://evil.example:8080"}, false},
		{"the server's own origin is allowed", Guard{Hosts: []string{"mcp.example"}}, public, "mcp.example:8080", []string{"https://mcp.example:8080"}, true},
		{"its origin by address is allowed", Guard{}, public, "192.0.2.1:8080", []string{"http://192.0.2.1:8080"}, true},
		{"another port is another origin", Guard{Hosts: []string{"mcp.example"}}, public, "mcp.example:8080", []string{"https://mcp.example"}, false},
		{"an origin on the client's localhost is refused elsewhere", Guard{}, public, "192.0.2.1:8080", []string{"http://localhost:3000"}, false},
		{"it is allowed through a forwarded port", Guard{}, public, "localhost:8080", []string{"http://localhost:3000"}, true},
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
			if c.local != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
			}
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
