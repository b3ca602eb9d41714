package layer

import (
	"errors"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Count registers the metrics of the layers, and counts requests to g from the next [Stack.Front]
// on. Call it once, before that.
func (s *Stack) Count(registry prometheus.Registerer, g *gateway.Gateway) (err error) {
	s.counts, err = metrics.New(metrics.Options{Registerer: registry, Describe: func(req *mcp.Request) (server, tool string) {
		if t, ok := g.Tool(req.Name); ok && req.Method == "tools/call" {
			return t.Server, t.Name
		}
		return g.ServerOf(req), "" // as clients can send any name
	}})
	return errors.Join(err, registry.Register(s.withheld), s.countLog(registry))
}

// count counts requests.
func count(s *Stack, _ *Plan, _ Part) mcp.Middleware {
	if s.counts == nil {
		return nil
	}
	return s.counts.Around
}
