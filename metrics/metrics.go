package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
)

// other is the label of methods that nobody knows.
const other = "other"

// counted are the methods that have a label of their own; anybody can ask for any other.
func counted() []string {
	return []string{"tools/call", "tools/list", "prompts/get", "prompts/list", "resources/read", "resources/list", "resources/templates/list",
		"completion/complete", "server/discover", "ping", "logging/setLevel"}
}

// Options are optional; the zero value of each field means its default.
type Options struct {
	// Registerer gets the metrics; default prometheus.DefaultRegisterer. It must not have them already.
	Registerer prometheus.Registerer
	// Describe says which server and tool a call is about, by names of which there are not many: each is kept
	// for ever. By default server is empty, and tool is, too, as clients can ask for any name.
	Describe func(req *mcp.Request) (server, tool string)
}

// Metrics are counters, which are safe for concurrent use:
//
//	mcp_requests_total{method,server,tool,outcome}         outcome is that of [mcp.OutcomeOf]
//	mcp_request_duration_seconds{method,server}            a histogram
//	mcp_request_bytes_total, mcp_result_bytes_total{method,server}
//	mcp_requests_running
//
// Subscriptions, which run for ever, are not counted. A call of several rounds counts once for each.
type Metrics struct {
	options  Options
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	sent     *prometheus.CounterVec
	received *prometheus.CounterVec
	running  prometheus.Gauge
	known    []string
}

// New makes metrics and registers them. The error says that they are registered already.
func New(o Options) (*Metrics, error) {
	if o.Registerer == nil {
		o.Registerer = prometheus.DefaultRegisterer
	}
	if o.Describe == nil {
		o.Describe = func(*mcp.Request) (server, tool string) { return "", "" }
	}
	m := &Metrics{
		options:  o,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_requests_total", Help: "Requests that were handled."}, []string{"method", "server", "tool", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mcp_request_duration_seconds", Help: "How long requests took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"method", "server"}),
		sent:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_request_bytes_total", Help: "Bytes of the parameters of requests."}, []string{"method", "server"}),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_result_bytes_total", Help: "Bytes of results."}, []string{"method", "server"}),
		running:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "mcp_requests_running", Help: "Requests that run."}),
		known:    counted(),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.sent, m.received, m.running} {
		if err := o.Registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Around returns a Handler whose requests are counted.
func (m *Metrics) Around(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" {
			return next.Handle(ctx, req)
		}
		method := req.Method
		if !slices.Contains(m.known, method) {
			method = other
		}
		server, tool := m.options.Describe(req)
		began := time.Now()
		m.running.Inc()
		defer m.running.Dec()
		result, err := next.Handle(ctx, req)
		m.duration.WithLabelValues(method, server).Observe(time.Since(began).Seconds())
		m.requests.WithLabelValues(method, server, tool, string(mcp.OutcomeOf(ctx, &result, err))).Inc()
		m.sent.WithLabelValues(method, server).Add(float64(len(req.Params)))
		if body, failed := result.Encoded(); err == nil && failed == nil {
			result.JSON = body // encoded once, also for who sends it
			m.received.WithLabelValues(method, server).Add(float64(len(body)))
		}
		return result, err
	})
}
