package layer

import (
	"errors"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Count registers the metrics of the layers. Handlers that [Stack.Front] returns afterwards count
// requests to g. Call Count at most once, before Front.
func (s *Stack) Count(registry prometheus.Registerer, g *gateway.Gateway) (err error) {
	s.counts, err = metrics.New(metrics.Options{Registerer: registry, Describe: func(req *mcp.Request) (server, tool string) {
		if t, ok := g.Tool(req.Name); ok && req.Method == "tools/call" {
			return t.Server, t.Name
		}
		return g.ServerOf(req), "" // a client can send any name
	}})
	err = errors.Join(err, registry.Register(s.withheld), registry.Register(s.messages.Collector()), s.countLog(registry))
	for _, c := range s.Desk.Collectors() {
		err = errors.Join(err, registry.Register(c))
	}
	return err
}

// countServer returns middleware that counts the requests to one server.
func countServer(s *Stack, _ *Plan, of Server) mcp.Middleware {
	if s.counts == nil {
		return nil
	}
	return s.counts.ToServer(of.Name)
}

// count returns middleware that counts requests.
func count(s *Stack, _ *Plan, _ Part) mcp.Middleware {
	if s.counts == nil {
		return nil
	}
	return s.counts.Around
}
