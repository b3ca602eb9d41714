package upstream_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestTheEraOfAServerThatKnowsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("both", "1")
		mcp.AddTool(s, "era", func(ctx context.Context, _ struct{}) (string, error) {
			return mcp.RequestFrom(ctx).Meta.Revision, nil
		})
		for _, test := range []struct {
			legacyFirst    bool
			revision, want string
		}{
			{false, "", "2026-07-28"},
			{true, "", "2025-11-25"},
			{true, "2026-07-28", "2026-07-28"},
			{true, "2024-11-05", "2024-11-05"},
		} {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{LegacyFirst: test.legacyFirst, Revision: test.revision})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := mcp.Call[string](t.Context(), c, "era", nil); err != nil || got != test.want || c.Revision() != test.want {
				t.Errorf("%+v: got %s, %v, and %s", test, got, err, c.Revision())
			}
			c.Close()
		}
	})
}

// A server without a handshake is found, in whatever way it refuses the handshake.
func TestLegacyFirstFindsAModernServer(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"an error": func(w http.ResponseWriter, id json.RawMessage) {
			respond(w, 200, `{"jsonrpc":"2.0","id":`+string(id)+`,"error":{"code":-32601,"message":"no"}}`)
		},
		"an error and a status": func(w http.ResponseWriter, id json.RawMessage) {
			respond(w, 400, `{"jsonrpc":"2.0","id":`+string(id)+`,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`)
		},
		"a status": func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(404) },
		"another revision": func(w http.ResponseWriter, id json.RawMessage) {
			respond(w, 200, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"protocolVersion":"2026-07-28","capabilities":{}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				switch err := json.NewDecoder(r.Body).Decode(&m); {
				case err != nil:
					w.WriteHeader(405)
				case m.Method == "initialize":
					refuse(w, m.ID)
				default:
					respond(w, 200, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}`)
				}
			}))
			defer server.Close()
			c, err := mcp.DialWith(t.Context(), streamable.Client(server.URL), mcp.ClientOptions{LegacyFirst: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Revision() != "2026-07-28" {
				t.Errorf("got %s", c.Revision())
			}
		})
	}
}

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
