package up

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/rebinding"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// AdminTime is the time limit of a request to the admin address.
const AdminTime = 10 * time.Second

// serveAdmin serves metrics, health checks and control at the admin address until stop is called.
// It does nothing without --admin.
func (v *Served) serveAdmin(ctx context.Context) (stop func(), err error) {
	if v.admin == nil {
		return func() {}, nil
	}
	registry := v.metrics
	if err := v.count(registry); err != nil {
		return nil, err
	}
	token, from, err := adminToken(v.App.Place)
	if err != nil {
		return nil, err
	}
	l, seenBy := v.admin, v.reach
	mux := v.AdminMux(ctx, seenBy, registry, token)
	server := &http.Server{Handler: Guarded(mux, rebinding.Guard{Hosts: v.Options.AllowedHosts(), Origins: v.Options.Origins}, "/healthz", "/readyz"), ReadHeaderTimeout: AdminTime, ReadTimeout: AdminTime, WriteTimeout: AdminTime, IdleTimeout: idleTimeout, ErrorLog: v.App.ServerLog()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // returns when the server is closed
	}()
	at := v.Options.origin(l)
	switch seenBy {
	case ThisMachine:
		v.App.Screen.Printf("Metrics are at %s/metrics; the token for /api is in %s.\n", at, v.App.Short(from))
	case EncryptedNetwork:
		v.App.Screen.Printf("Metrics are at %s/metrics; the token for them and for /api is in %s.\n", at, v.App.Short(from))
	case BareNetwork:
		v.App.Screen.Printf("Metrics are at %s/metrics, for every client that can reach it; /api is not served there.\n", at)
	}
	return func() { server.Close(); <-ended }, nil
}

// countCertificate registers a metric of the time until the certificate expires. It does nothing
// without a certificate.
func (v *Served) countCertificate(registry prometheus.Registerer) error {
	for _, l := range []net.Listener{v.listener, v.admin} {
		if e, is := l.(*Encrypted); is {
			return registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "junction_certificate_expiry_seconds", Help: "Seconds until the certificate, or one that signed it, expires; negative if it has expired, 0 if there is none yet."},
				func() float64 { return e.Certificate.Left().Seconds() }))
		}
	}
	return nil
}

// An Audience describes the clients that can reach the admin address.
type Audience int

const (
	ThisMachine      Audience = iota
	EncryptedNetwork          // encrypted; clients need a token, also for metrics
	BareNetwork               // unencrypted; clients must never send the token
)

// AdminReach returns the audience of --admin. An unencrypted address that other machines can reach
// is an error, unless --admin-insecure allows it.
func (o *Options) AdminReach() (Audience, error) {
	at, err := net.ResolveTCPAddr("tcp", o.Admin)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--admin: %w", err)
	case at.IP.IsLoopback():
		return ThisMachine, nil
	case o.TLS.Encrypts():
		return EncryptedNetwork, nil
	case o.AdminInsecure:
		return BareNetwork, nil
	}
	return 0, cli.Usagef("--admin %s is not a loopback address, and others in the network could read the data: give --tls-cert and --tls-key, or --admin-insecure for metrics without /api", o.Admin)
}

// listenAdmin listens at --admin. Without that flag the listener is nil.
func (o *Options) listenAdmin(p place.Place, log *slog.Logger) (net.Listener, Audience, error) {
	if o.Admin == "" {
		return nil, 0, nil
	}
	r, err := o.AdminReach()
	if err != nil {
		return nil, 0, err
	}
	l, err := ListenAt(p, o.Admin)
	if err != nil {
		return nil, 0, fmt.Errorf("--admin: %w", err)
	}
	if r != EncryptedNetwork {
		return l, r, nil
	}
	secure, err := Encrypt(settings.TLS{Cert: o.TLS.Cert, Key: o.TLS.Key, ACME: o.TLS.ACME}, p, l, log, o.tlsMember)
	if err != nil {
		l.Close()
		return nil, 0, err
	}
	return secure, r, nil
}

// AdminMux returns the handler of the admin address.
func (v *Served) AdminMux(ctx context.Context, reach Audience, registry prometheus.Gatherer, token string) *http.ServeMux {
	withToken := demands(token)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { v.writeMetrics(w, registry) })
	if reach == EncryptedNetwork {
		metrics = withToken(metrics)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := v.NotReady(ctx); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if reach != BareNetwork {
		v.serveControl(mux, withToken, func(r *http.Request) caller { return caller{"through --admin", r.RemoteAddr} })
	}
	return mux
}

// Guarded returns a Handler that refuses requests that a web page may have sent without the
// knowledge of its user. The paths in open are exempt: health checks have any Host or none, and
// their responses contain nothing secret.
func Guarded(h http.Handler, g rebinding.Guard, open ...string) http.Handler {
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

// writeMetrics writes metrics as text. promhttp could do that, too, but adds 1 MB of compression
// code to the binary.
func (v *Served) writeMetrics(w http.ResponseWriter, from prometheus.Gatherer) {
	all, err := from.Gather()
	if err != nil { // write the metrics that could be gathered
		v.App.Logger().Warn("junction: metrics are not complete", "error", err)
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	to := expfmt.NewEncoder(w, format)
	for _, family := range all {
		if to.Encode(family) != nil {
			return // the client has disconnected
		}
	}
}

// NotReady returns the reason why clients should not connect now, or "". The gateway is ready when
// every server has been tried once and its peers can know it, until it shuts down.
func (v *Served) NotReady(ctx context.Context) string {
	if ctx.Err() != nil {
		return "it ends"
	}
	if refuses, err := v.Gateway.Layers().Unwritable(); refuses {
		return "calls are refused, because they cannot be logged: " + err.Error()
	}
	return cmp.Or(v.untried(), v.Options.shared.notReady())
}

// untried describes a server that has not been tried yet. It returns "" after every server has been
// tried once. Servers that a reload adds later do not count, because clients can continue to use
// the others.
func (v *Served) untried() string {
	if v.tried.Load() {
		return ""
	}
	all := v.Gateway.Members().Status()
	if i := slices.IndexFunc(all, func(s gateway.Status) bool { return !s.Tried }); i >= 0 {
		return fmt.Sprintf("server %s is %s", all[i].Name, all[i].State)
	}
	v.tried.Store(len(all) > 0) // on standard input and output there are no servers before the client's first request
	return ""
}

// states is a metric with the state of each server. It implements [prometheus.Collector].
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
