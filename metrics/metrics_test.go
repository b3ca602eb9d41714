package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRequestsAreCountedByHowTheyEnded(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(Options{Registerer: registry, Describe: func(req *mcp.Request) (server, tool string) {
		if req.Method == "tools/call" && req.Name == "add" {
			return "s", "add"
		}
		return "", ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "add", func(_ context.Context, in struct{ A, B int }) (int, error) {
		if in.A < 0 {
			return 0, errors.New("too small")
		}
		return in.A + in.B, nil
	})
	c := mcp.NewClient(m.Around(s))
	for _, a := range []int{1, 2, -1} {
		_, _ = mcp.Call[int](t.Context(), c, "add", map[string]any{"A": a, "B": 1})
	}
	_, _ = mcp.Call[int](t.Context(), c, "none", nil)
	_, _ = c.Do(t.Context(), "made/up", nil)
	want := `# HELP mcp_requests_total Requests that were handled.
# TYPE mcp_requests_total counter
mcp_requests_total{method="other",outcome="error",server="",tool=""} 1
mcp_requests_total{method="server/discover",outcome="ok",server="",tool=""} 1
mcp_requests_total{method="tools/call",outcome="error",server="",tool=""} 1
mcp_requests_total{method="tools/call",outcome="ok",server="s",tool="add"} 2
mcp_requests_total{method="tools/call",outcome="tool_error",server="s",tool="add"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "mcp_requests_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "mcp_request_duration_seconds", "mcp_requests_running", "mcp_result_bytes_total"); err != nil || n < 4 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := New(Options{Registerer: registry}); err == nil {
		t.Error("they are registered twice")
	}
}

func BenchmarkAround(b *testing.B) {
	m, err := New(Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	h := m.Around(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{JSON: []byte(`{}`)}, nil }))
	req := mcp.NewRequest("tools/call", []byte(`{"name":"t"}`))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = h.Handle(b.Context(), req)
	}
}
