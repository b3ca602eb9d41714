package metrics

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
)

// other is the label for unknown methods. Clients can request any method.
const other = "other"

// Options configure Metrics. A zero field means its default.
type Options struct {
	// Registerer registers the metrics; the default is prometheus.DefaultRegisterer. The metrics
	// must not be registered there already.
	Registerer prometheus.Registerer
	// Describe returns the labels for the server and the tool of a request. There must not be many
	// different ones, because each is kept for ever. By default both labels are empty, because
	// clients can use any name.
	Describe func(req *mcp.Request) (server, tool string)
}

// Metrics counts requests in these metrics. It is safe for concurrent use.
//
//	mcp_requests_total{method,server,tool,outcome}         outcome as in [mcp.OutcomeOf]
//	mcp_request_duration_seconds{method,server}            a histogram
//	mcp_request_bytes_total, mcp_result_bytes_total{method,server}
//	mcp_requests_running
//	mcp_server_operation_duration_seconds{mcp_method_name,gen_ai_tool_name,error_type}
//	mcp_client_operation_duration_seconds{mcp_method_name,server,error_type}
//	                                                       as in the semantic conventions of OpenTelemetry; see [Metrics.ToServer]
//	mcp_notes_total{note,effect}                           actions of layers: note is policy, limit, secrets, review,
//	                                                       retry, resent or rewritten; effect allow, ask, deny, or empty
//
// Subscriptions are not counted, because they run without end. Each round of a call counts. Tools
// beyond the first 200 share the name _OTHER in histograms.
type Metrics struct {
	options  Options
	notes    series[[2]string, prometheus.Counter]
	requests series[[4]string, prometheus.Counter]
	asked    series[[2]string, requestMetrics]
	received series[[2]string, prometheus.Counter]
	running  prometheus.Gauge
	handled  series[[3]string, prometheus.Observer] // by method, tool and error
	sent     series[[3]string, prometheus.Observer] // by method, server and error

	toolsMu sync.RWMutex
	tools   map[string]bool // tools with a histogram of their own
}

// requestMetrics holds the metrics of all requests with one method and server.
type requestMetrics struct {
	duration prometheus.Observer
	sent     prometheus.Counter
}

// series holds metrics by their labels. Finding one does not allocate memory.
type series[Labels comparable, M any] struct {
	with func(Labels) M
	mu   sync.RWMutex
	all  map[Labels]M
}

func (s *series[Labels, M]) of(labels Labels) M {
	s.mu.RLock()
	m, made := s.all[labels]
	s.mu.RUnlock()
	if made {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[Labels]M{}
	}
	m = s.with(labels)
	s.all[labels] = m
	return m
}

// New creates metrics and registers them. It returns an error if they are registered already.
func New(o Options) (*Metrics, error) {
	if o.Registerer == nil {
		o.Registerer = prometheus.DefaultRegisterer
	}
	if o.Describe == nil {
		o.Describe = func(*mcp.Request) (server, tool string) { return "", "" }
	}
	var (
		requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_requests_total", Help: "Requests that were handled."}, []string{"method", "server", "tool", "outcome"})
		duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mcp_request_duration_seconds", Help: "How long requests took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"method", "server"})
		sent     = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_request_bytes_total", Help: "Bytes of the parameters of requests."}, []string{"method", "server"})
		received = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_result_bytes_total", Help: "Bytes of results."}, []string{"method", "server"})
		notes    = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_notes_total", Help: "What layers did with requests: decided, refused, limited, sent again, rewrote."}, []string{"note", "effect"})
	)
	m := &Metrics{options: o, running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "mcp_requests_running", Help: "Requests that run."})}
	m.notes.with = func(labels [2]string) prometheus.Counter { return notes.WithLabelValues(labels[:]...) }
	m.requests.with = func(labels [4]string) prometheus.Counter { return requests.WithLabelValues(labels[:]...) }
	m.received.with = func(labels [2]string) prometheus.Counter { return received.WithLabelValues(labels[:]...) }
	m.asked.with = func(labels [2]string) requestMetrics {
		return requestMetrics{duration.WithLabelValues(labels[:]...), sent.WithLabelValues(labels[:]...)}
	}
	operations := func(name, help string, labels ...string) (func([3]string) prometheus.Observer, prometheus.Collector) {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}}, labels)
		return func(values [3]string) prometheus.Observer { return h.WithLabelValues(values[:]...) }, h
	}
	var handled, toServers prometheus.Collector
	m.handled.with, handled = operations("mcp_server_operation_duration_seconds", "How long requests of clients took.", "mcp_method_name", "gen_ai_tool_name", "error_type")
	m.sent.with, toServers = operations("mcp_client_operation_duration_seconds", "How long requests to servers took.", "mcp_method_name", "server", "error_type")
	for _, c := range []prometheus.Collector{requests, duration, sent, received, m.running, notes, handled, toServers} {
		if err := o.Registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Around returns a Handler that counts the requests to next.
func (m *Metrics) Around(next mcp.Handler) mcp.Handler {
	// An event.Tap would copy the request to see notifications and requests of the server, which
	// are not counted.
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" {
			return next.Handle(ctx, req)
		}
		method := cmp.Or(revision.MethodNamed(req.Method).Name, other)
		server, tool := m.options.Describe(req)
		began := time.Now()
		m.running.Inc()
		defer m.running.Dec()
		outer, _ := ctx.Value(note.Key{}).(note.Observer)
		result, err := next.Handle(&noted{ctx, m, outer}, req)
		labels := [2]string{method, server}
		asked := m.asked.of(labels)
		took := time.Since(began).Seconds()
		asked.duration.Observe(took)
		asked.sent.Add(float64(len(req.Params)))
		outcome := mcp.OutcomeOf(ctx, &result, err)
		m.requests.of([4]string{method, server, tool, string(outcome)}).Inc()
		m.handled.of([3]string{method, m.named(tool), errorType(outcome, err)}).Observe(took)
		if body, failed := result.Encoded(); err == nil && failed == nil {
			result.JSON = body // the encoded result is also used to send it
			m.received.of(labels).Add(float64(len(body)))
		}
		return result, err
	})
}

// ToServer returns middleware that counts the requests to one server.
func (m *Metrics) ToServer(name string) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "subscriptions/listen" {
				return next.Handle(ctx, req)
			}
			began := time.Now()
			result, err := next.Handle(ctx, req)
			method := cmp.Or(revision.MethodNamed(req.Method).Name, other)
			m.sent.of([3]string{method, name, errorType(mcp.OutcomeOf(ctx, &result, err), err)}).Observe(time.Since(began).Seconds())
			return result, err
		})
	}
}

// maxTools is the maximum number of tools with a histogram of their own.
const maxTools = 200

// named returns the label of a tool.
func (m *Metrics) named(tool string) string {
	if tool == "" {
		return ""
	}
	m.toolsMu.RLock()
	known, full := m.tools[tool], len(m.tools) >= maxTools
	m.toolsMu.RUnlock()
	switch {
	case known:
		return tool
	case full:
		return otherError
	}
	m.toolsMu.Lock()
	defer m.toolsMu.Unlock()
	if m.tools == nil {
		m.tools = map[string]bool{}
	}
	if len(m.tools) < maxTools {
		m.tools[tool] = true
	}
	if m.tools[tool] {
		return tool
	}
	return otherError
}

// otherError is the type of errors whose code is none of JSON-RPC. Servers can send any code.
const otherError = "_OTHER"

// errorType returns the type of the error with which a request ended, or "".
func errorType(outcome mcp.Outcome, err error) string {
	switch outcome {
	case mcp.OutcomeOK, mcp.OutcomeInputRequired:
		return ""
	case mcp.OutcomeToolError, mcp.OutcomeCancelled:
		return string(outcome)
	}
	var fault *mcp.Error
	if errors.As(err, &fault) && (fault.Code == -32700 || fault.Code <= -32600 && fault.Code >= -32603) {
		return strconv.Itoa(fault.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return otherError
}

// A noted is the context of a request. It is also the [mcp.NoteObserver] that counts notes about
// the request.
type noted struct {
	context.Context
	metrics *Metrics
	outer   note.Observer // of other observers of the request; may be nil
}

// Value implements [context.Context].
func (n *noted) Value(key any) any {
	if key == (note.Key{}) {
		return note.Observer(n)
	}
	return n.Context.Value(key)
}

// Hears reports whether the metrics, or another observer, use notes of a kind.
func (n *noted) Hears(kind string) bool { return note.IsHandling(kind) || note.Hears(n.outer, kind) }

// Unwrap returns the NoteObserver of the other observers, or nil.
func (n *noted) Unwrap() note.Observer { return n.outer }

// Note implements [mcp.NoteObserver].
func (n *noted) Note(kind string, value any) {
	if note.IsHandling(kind) {
		effect := ""
		if v, is := value.(note.Decider); is {
			if d, ok := v.Decision(); ok {
				effect = d.Effect
			}
		}
		n.metrics.notes.of([2]string{kind, effect}).Inc()
	}
	if note.Hears(n.outer, kind) {
		n.outer.Note(kind, value)
	}
}
