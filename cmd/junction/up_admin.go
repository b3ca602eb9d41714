package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// adminTime is how long a request to the address for those who watch may take.
const adminTime = 10 * time.Second

// serveAdmin serves what those who watch over up want to know, at an address of its own, until stop is called.
func (v *served) serveAdmin(ctx context.Context) (stop func(), err error) {
	if v.admin == nil {
		return func() {}, nil
	}
	registry := prometheus.NewRegistry()
	v.layers.counts, err = metrics.New(metrics.Options{Registerer: registry, Describe: func(req *mcp.Request) (server, tool string) {
		if t, ok := v.gateway.Tool(req.Name); ok && req.Method == "tools/call" {
			return t.Server, t.Name
		}
		return v.gateway.ServerOf(req), "" // clients can ask for any name
	}})
	if err := errors.Join(err, v.layers.count(registry), v.access.count(registry), registry.Register(collectors.NewGoCollector()), v.countCertificate(registry),
		registry.Register(&states{v.gateway, prometheus.NewDesc("junction_servers", "Servers by what they do.", []string{"server", "state"}, nil)})); err != nil {
		return nil, err
	}
	token, from, err := adminToken(v.app.Place)
	if err != nil {
		return nil, err
	}
	l, seenBy := v.admin, v.reach
	mux := v.adminMux(ctx, seenBy, registry, token)
	server := &http.Server{Handler: guarded(mux, rebinding.Guard{Hosts: v.options.hosts, Origins: v.options.origins}, "/healthz", "/readyz"), ReadHeaderTimeout: adminTime, ReadTimeout: adminTime, WriteTimeout: adminTime, IdleTimeout: idleTimeout, ErrorLog: reach.ServerLog(v.app)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends when it is closed
	}()
	at := v.options.origin(l)
	switch seenBy {
	case thisMachine:
		v.app.Screen.Printf("Metrics are at %s/metrics; the token for /api is in %s.\n", at, v.app.Short(from))
	case encryptedNetwork:
		v.app.Screen.Printf("Metrics are at %s/metrics; the token for them and for /api is in %s.\n", at, v.app.Short(from))
	case bareNetwork:
		v.app.Screen.Printf("Metrics are at %s/metrics, for everybody who reaches that; /api is not served there.\n", at)
	}
	return func() { server.Close(); <-ended }, nil
}

// countCertificate adds for how long the certificate holds to what is counted, if there is one.
func (v *served) countCertificate(registry prometheus.Registerer) error {
	for _, l := range []net.Listener{v.listener, v.admin} {
		if e, is := l.(*encrypted); is {
			return registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "junction_certificate_expiry_seconds", Help: "Seconds until the certificate of --tls-cert, or one that signed it, expires; negative when it has."},
				func() float64 { return e.certificate.left().Seconds() }))
		}
	}
	return nil
}

// An audience says who can get to the address for those who watch.
type audience int

const (
	thisMachine      audience = iota
	encryptedNetwork          // a token goes over it, and is needed for metrics, too
	bareNetwork               // no token goes over it
)

// adminReach says who can get to the address of --admin. What everybody in a network could listen to is refused, unless
// a flag says that it is meant.
func (o *upOptions) adminReach() (audience, error) {
	at, err := net.ResolveTCPAddr("tcp", o.admin)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--admin: %w", err)
	case at.IP.IsLoopback():
		return thisMachine, nil
	case o.cert != "":
		return encryptedNetwork, nil
	case o.bareAdmin:
		return bareNetwork, nil
	}
	return 0, cli.Usagef("--admin %s is not on a loopback address, so that everybody in the network could read along: give --tls-cert and --tls-key, or --admin-insecure for metrics without /api", o.admin)
}

// listenAdmin listens for those who watch; nil if that is not wanted.
func (o *upOptions) listenAdmin(p place.Place, log *slog.Logger) (net.Listener, audience, error) {
	if o.admin == "" {
		return nil, 0, nil
	}
	r, err := o.adminReach()
	if err != nil {
		return nil, 0, err
	}
	l, err := listenAt(p, o.admin)
	if err != nil {
		return nil, 0, fmt.Errorf("--admin: %w", err)
	}
	if r != encryptedNetwork {
		return l, r, nil
	}
	secure, err := (&security{cert: o.cert, key: o.key}).listen(p, l, log)
	if err != nil {
		l.Close()
		return nil, 0, err
	}
	return secure, r, nil
}

// adminMux is what is served to those who watch.
func (v *served) adminMux(ctx context.Context, reach audience, registry prometheus.Gatherer, token string) *http.ServeMux {
	withToken := demands(token)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { v.writeMetrics(w, registry) })
	if reach == encryptedNetwork {
		metrics = withToken(metrics)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := v.notReady(ctx); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if reach != bareNetwork {
		v.serveControl(mux, withToken, func(r *http.Request) string { return "through --admin, from " + r.RemoteAddr })
	}
	return mux
}

// guarded refuses what a web page may have sent without its user's knowledge. Some paths are open to all: who checks the health of
// a program names it as it likes, or not at all, and there is nothing that a page could learn.
func guarded(h http.Handler, g rebinding.Guard, open ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(open, r.URL.Path) {
			if err := g.Check(r); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// writeMetrics writes metrics as text. promhttp would do so, too, and bring 1 MB of compression with it.
func (v *served) writeMetrics(w http.ResponseWriter, from prometheus.Gatherer) {
	all, err := from.Gather()
	if err != nil { // what could be gathered is
		v.app.Logger().Warn("junction: metrics are not complete", "error", err)
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	to := expfmt.NewEncoder(w, format)
	for _, family := range all {
		if to.Encode(family) != nil {
			return // the client is gone
		}
	}
}

// notReady says why no clients should come now; empty if they may: every server was tried once, and it does
// not end.
func (v *served) notReady(ctx context.Context) string {
	if ctx.Err() != nil {
		return "it ends"
	}
	if refuses, err := v.layers.unwritable(); refuses {
		return "calls are refused, as they cannot be written down: " + err.Error()
	}
	return v.untried()
}

// untried names a server that was not tried yet; empty once every server was. One that a reload adds later does not
// count: what clients had goes on meanwhile.
func (v *served) untried() string {
	if v.tried.Load() {
		return ""
	}
	all := v.gateway.Status()
	if i := slices.IndexFunc(all, func(s gateway.Status) bool { return !s.Tried }); i >= 0 {
		return fmt.Sprintf("server %s is %s", all[i].Name, all[i].State)
	}
	v.tried.Store(len(all) > 0) // on standard input and output servers come with the client
	return ""
}

// states are the servers by what they do, as a metric.
type states struct {
	gateway     *gateway.Gateway
	description *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (s *states) Describe(all chan<- *prometheus.Desc) { all <- s.description }

// Collect implements [prometheus.Collector].
func (s *states) Collect(all chan<- prometheus.Metric) {
	for _, one := range s.gateway.Status() {
		all <- prometheus.MustNewConstMetric(s.description, prometheus.GaugeValue, 1, one.Name, one.State.String())
	}
}
