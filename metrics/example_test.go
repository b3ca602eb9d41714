package metrics_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func Example() {
	registry := prometheus.NewRegistry() // promhttp.HandlerFor(registry, …) serves it
	m, _ := metrics.New(metrics.Options{Registerer: registry})
	s := mcp.NewServer("greeter", "1")
	mcp.AddTool(s, "greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
	client := mcp.NewClient(m.Around(s))
	text, err := mcp.Call[string](context.Background(), client, "greet", nil)
	n, _ := testutil.GatherAndCount(registry, "mcp_requests_total")
	fmt.Println(text, err, n > 0)
	// Output: hello <nil> true
}
