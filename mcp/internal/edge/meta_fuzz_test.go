package edge_test

import (
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// FuzzMeta sends arbitrary _meta in both eras. Each request gets a response or the error that the
// specification defines for invalid metadata.
func FuzzMeta(f *testing.F) {
	for _, meta := range []string{
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{"tools":{}},"roots":null,"x":[]},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1","icons":[{"src":"x"}]},"io.modelcontextprotocol/logLevel":"debug","progressToken":"t","traceparent":"00-1-1-01"}`,
		`{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}`,
		`{"io.modelcontextprotocol/protocolVersion":1}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":1}}`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}`,
		`{"progressToken":1.5}`, `{"progressToken":-1}`, `{"progressToken":true,"traceparent":1}`, `{}`, `null`, `[]`, `"x"`,
	} {
		f.Add([]byte(meta))
	}
	e, err := edge.New(asking(), edge.Options{})
	if err != nil {
		f.Fatal(err)
	}
	initialize, fault := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), jsonrpc.Limits{})
	if fault != nil {
		f.Fatal(fault)
	}
	session, _ := e.Initialize(f.Context(), nil, &initialize, edge.From{})
	f.Fuzz(func(t *testing.T, meta []byte) {
		m, fault := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":`+string(meta)+`}}`), jsonrpc.Limits{})
		if fault != nil {
			t.Skip()
		}
		edge.IsModern(&m)
		for era, reply := range map[string]edge.Reply{
			"modern": e.Modern(t.Context(), nil, &m, edge.From{Out: discard{}}),
			"legacy": session.Request(t.Context(), nil, &m, edge.From{Out: discard{}}),
		} {
			response, fault := jsonrpc.Parse(reply.Message, jsonrpc.Limits{})
			if fault != nil || response.Kind != jsonrpc.Response || string(response.ID) != `"x"` {
				t.Fatalf("%s: %s\nis answered with %s", era, meta, reply.Message)
			}
			switch reply.Code {
			case 0:
				if response.Members.Get("tools") == nil {
					t.Fatalf("%s: %s\nis answered with %s", era, meta, reply.Message)
				}
			case mcp.CodeInvalidParams:
			case mcp.CodeUnsupportedRevision:
				if era == "legacy" {
					t.Fatalf("%s: %s\nis answered with %s", era, meta, reply.Message)
				}
			default:
				t.Fatalf("%s: %s\nis answered with %s", era, meta, reply.Message)
			}
		}
	})
}
