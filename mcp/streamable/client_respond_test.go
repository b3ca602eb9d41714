package streamable

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// TestClientRepeatsAResponse has a balancer fail when the client responds to a request of the server.
func TestClientRepeatsAResponse(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"bad gateway": http.StatusBadGateway, "unavailable": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			endpoint := Handler(f.Server)
			var asked atomic.Bool
			var failed atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && asked.Load() && failed.Add(1) <= 2 {
					w.WriteHeader(status)
					return
				}
				endpoint.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			c, err := mcp.DialWith(t.Context(), Client(server.URL), mcp.ClientOptions{Revision: "2025-11-25", OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked.Store(true)
				return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r, err := c.CallTool(t.Context(), "ask", struct{}{})
			if err != nil || r.Text() != "Ada" || failed.Load() < 3 {
				t.Errorf("%v, %v; %d responses sent", r, err, failed.Load())
			}
		})
	}
}
