package metrics

import (
	"context"
	"errors"
	"fmt"
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

func TestDurationsHaveTheNamesOfOpenTelemetry(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(Options{Registerer: registry, Describe: func(req *mcp.Request) (server, tool string) { return "s", req.Name }})
	if err != nil {
		t.Fatal(err)
	}
	fails := map[string]error{"odd": mcp.Errorf(-31999, "odd"), "invalid": mcp.Errorf(mcp.CodeInvalidParams, "no"), "late": context.DeadlineExceeded, "other": errors.New("other")}
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: []byte(`{"content":[]}`)}, fails[req.Name]
	})
	c := mcp.NewClient(m.Around(m.ToServer("s")(h)))
	for i := range 300 {
		_, _ = c.CallTool(t.Context(), fmt.Sprint("tool", i), nil)
	}
	for name := range fails {
		_, _ = c.CallTool(t.Context(), name, nil)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	tools, errs := map[string]bool{}, map[string]bool{}
	for _, f := range families {
		for _, one := range f.Metric {
			labels := map[string]string{}
			for _, l := range one.Label {
				labels[l.GetName()] = l.GetValue()
			}
			switch f.GetName() {
			case "mcp_server_operation_duration_seconds":
				tools[labels["gen_ai_tool_name"]] = true
			case "mcp_client_operation_duration_seconds":
				errs[labels["mcp_method_name"]+" "+labels["server"]+" "+labels["error_type"]] = true
			}
		}
	}
	if n := len(tools); n < 200 || n > 202 || !tools["_OTHER"] {
		t.Errorf("%d tools have a histogram", n)
	}
	for _, want := range []string{"tools/call s ", "tools/call s -32602", "tools/call s timeout", "tools/call s _OTHER"} {
		if !errs[want] {
			t.Errorf("no %q in %v", want, errs)
		}
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
