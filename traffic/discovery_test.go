package traffic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestRefusedDiscoveryMeansLegacy(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		answer string // response to server/discover
		kind   string
		legacy bool
	}{
		{"an unknown method", 200, `"error":{"code":-32601,"message":"Method not found"}`, Error, true},
		{"an error of its own", 200, `"error":{"code":-32000,"message":"not initialized"}`, Error, true},
		{"legacy revisions offered", 200, `"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}`, Error, true},
		{"a modern revision offered", 200, `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28","2025-06-18"]}}`, Error, false},
		{"an error of modern servers", 200, `"error":{"code":-32021,"message":"no"}`, Error, false},
		{"an HTTP status with an error", 400, `"error":{"code":-32000,"message":"no session"}`, Failure, true},
		{"an HTTP status with an error of modern servers", 400, `"error":{"code":-32020,"message":"no"}`, Failure, false},
		{"an HTTP status alone", 405, "", Failure, true},
		{"a missing login", 401, "", Failure, false},
		{"too many requests", 429, "", Failure, false},
		{"a server that is broken", 500, "", Failure, false},
		{"an answer", 200, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"a","version":"1"}}`, Response, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct {
					ID     json.RawMessage
					Method string
				}
				if _ = json.NewDecoder(r.Body).Decode(&asked); asked.Method != "server/discover" || test.answer == "" {
					w.WriteHeader(test.status)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, test.answer)
			}))
			t.Cleanup(site.Close)
			var l Log
			n := watch(t, &l)
			if c, err := mcp.DialWith(t.Context(), streamable.Client(site.URL), mcp.ClientOptions{Wire: l.Server("far")}); err == nil {
				t.Cleanup(func() { c.Close() })
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			answers := func(e Event) bool { return e.Method == "server/discover" && e.Kind != Request }
			for !slices.ContainsFunc(n.all, answers) {
				n.more.Wait()
			}
			e := n.all[slices.IndexFunc(n.all, answers)]
			if wrong := e.Kind != Response && !test.legacy; e.Kind != test.kind || e.Legacy != test.legacy || e.Failed() != wrong {
				t.Errorf("it is a %s with Legacy %v and Failed %v, want a %s with %v and %v", e.Kind, e.Legacy, e.Failed(), test.kind, test.legacy, wrong)
			}
			var passedOn Event
			if err := json.Unmarshal(e.AppendJSON(nil), &passedOn); err != nil || passedOn.Legacy != test.legacy || passedOn.Failed() != e.Failed() {
				t.Errorf("who watches from another process sees Legacy %v and Failed %v, %v", passedOn.Legacy, passedOn.Failed(), err)
			}
		})
	}
}

func TestAnErrorOfJunctionToAClientsDiscoveryIsAnError(t *testing.T) {
	asked := &requestFacts{id: "1", method: "server/discover"}
	e := Event{Hop: Client, ID: json.RawMessage("1"), Message: json.RawMessage(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`), of: asked}
	if e.readMessage(); e.Legacy || !e.Failed() {
		t.Errorf("Legacy is %v and Failed %v", e.Legacy, e.Failed())
	}
}
