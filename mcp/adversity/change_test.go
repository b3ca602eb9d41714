package adversity

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// changesTools has other tools after a call, and says so.
func changesTools(s *server) {
	var changed atomic.Bool
	s.tools = func() string {
		if changed.Load() {
			return tool("fresh")
		}
		return tool("plain")
	}
	s.tool = func(c *call) {
		switch want := map[bool]string{false: "plain", true: "fresh"}[changed.Load()]; {
		case c.Params.Name != want:
			c.fail(-32602, "Unknown tool: "+c.Params.Name)
		case c.Params.Arguments.Do == "change":
			changed.Store(true)
			c.announce("notifications/tools/list_changed")
			fallthrough
		default:
			c.respond("")
		}
	}
}

func TestServerChangesItsTools(t *testing.T) {
	for name, gateway := range map[string]bool{"behind a client": false, "behind a gateway": true} {
		t.Run(name, func(t *testing.T) {
			scenario{script: "changes its tools", gateway: gateway, do: func(t *testing.T, c *crowd) {
				c.everybody(func(c *client) { c.call("plain", 1, "").right() })
				c.clients[7].call("plain", 2, "change").right()
				c.everybody(func(c *client) {
					eventually(t, c.label+" sees the new tool", func() bool { return only(c, "fresh") })
					c.call("fresh", 3, "").right()
					c.call("plain", 4, "").clear("plain")
				})
			}}.run(t)
		})
	}
}

// only reports whether the client is offered one tool, of this name.
func only(c *client, name string) bool {
	var tools []mcp.Tool
	for t, err := range c.Tools(c.t.Context()) {
		if err != nil {
			return false
		}
		tools = append(tools, *t)
	}
	return len(tools) == 1 && tools[0].Name == name
}

// removesAnnotations first wants an argument in a header as well, then not, and
// then again; it checks the headers as it must.
func removesAnnotations(s *server) {
	var wanted atomic.Bool
	wanted.Store(true)
	s.tools = func() string {
		annotation := ""
		if wanted.Load() {
			annotation = `,"x-mcp-header":"Do"`
		}
		return `{"name":"plain","inputSchema":{"type":"object","properties":{"Do":{"type":"string"` + annotation + `}}}}`
	}
	s.tool = func(c *call) {
		if wanted.Load() && c.header != nil && c.header.Get("Mcp-Param-Do") != c.Params.Arguments.Do {
			c.fail(-32020, "header Mcp-Param-Do is missing")
			return
		}
		if c.Params.Arguments.Do == "change" {
			wanted.Store(!wanted.Load())
		}
		c.respond("")
	}
}

// newcomer is a call of a client that saw no list yet.
const newcomer = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plain","arguments":{"Client":99,"Call":1,"Do":"stay"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func TestServerRemovesAnAnnotationOfHeaders(t *testing.T) {
	onHTTP := func(c cell) bool { return isModern(c) && c.transport != memory }
	scenario{script: "removes annotations", on: onHTTP, do: func(t *testing.T, c *crowd) {
		for n := range 3 {
			c.everybody(func(c *client) {
				if !only(c, "plain") {
					t.Errorf("%s: no tool", c.label)
				}
				c.call("plain", 10*n, "stay").right()
			})
			want := http.StatusOK
			if n%2 == 0 {
				want = http.StatusBadRequest // as the header is missing
			}
			resp, body, err := request(t, t.Context(), "POST", c.web, newcomer, "Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "plain")
			if err != nil || resp.StatusCode != want {
				t.Errorf("without a header the response is %v, want status %d: %v, %s", resp, want, err, body)
			}
			c.clients[4].call("plain", 10*n+1, "change").right() // over HTTP, as a modern client
		}
	}}.run(t)
}
