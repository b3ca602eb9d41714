package up

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/spf13/pflag"
)

// WildcardAddr reports whether a listener listens at all addresses of this machine. It returns the
// listener's address.
func WildcardAddr(l net.Listener) (at *net.TCPAddr, is bool) {
	at, is = l.Addr().(*net.TCPAddr)
	return at, is && at.IP.IsUnspecified()
}

// ServeOptions returns the options for serving clients.
func ServeOptions(a *cli.App) mcp.ServeOptions {
	o := mcp.ServeOptions{Logger: a.Logger(), Middleware: a.Around}
	if a.Launch.Traffic != nil {
		o.Wire = a.Launch.Traffic.Clients()
	}
	return o
}

const (
	// DefaultDrainDelay is how long junction up continues to serve after SIGTERM, if clients can
	// check its readiness.
	DefaultDrainDelay = 3 * time.Second
	// LastResponseTime is the time limit for the responses to requests that the shutdown cancelled.
	LastResponseTime = time.Second
)

// A Drain holds the times for the shutdown of an HTTP listener.
type Drain struct {
	Delay time.Duration // time after SIGTERM while requests are still accepted and /readyz responds with 503
	Time  time.Duration // time for running requests to end
}

// Flags defines the flags for d in a flag set.
func (d *Drain) Flags(flags *pflag.FlagSet) {
	flags.DurationVar(&d.Delay, "drain-delay", 0, "with --http: keep serving for this `TIME` after SIGTERM, while /readyz returns 503 (default "+DefaultDrainDelay.String()+" with --admin)")
	flags.DurationVar(&d.Time, "drain-time", mcp.DefaultDrainTimeout, "with --http: at the end, give running requests this `TIME` to finish")
}

// Check returns an error if a flag is out of range.
func (d *Drain) Check() error {
	for _, one := range []struct {
		flag  string
		value time.Duration
	}{{"--drain-delay", d.Delay}, {"--drain-time", d.Time}} {
		if one.value < 0 || one.value > settings.MaxDrain {
			return cli.Usagef("%s: expected up to %v, got %v", one.flag, settings.MaxDrain, one.value)
		}
	}
	return nil
}

// WaitBeforeDrain waits for the delay of d if SIGTERM ended ctx, so that load balancers see that
// the process is not ready. It does not wait after Ctrl-C, and returns early at a second signal.
func WaitBeforeDrain(ctx context.Context, a *cli.App, d Drain) {
	if d.Delay <= 0 || !errors.Is(context.Cause(ctx), cli.ErrTerminated) {
		return
	}
	a.Screen.Printf("junction: junction up ends in %v\n", d.Delay)
	select {
	case <-time.After(d.Delay):
	case <-a.Kill:
	}
}

// A departure is the handler of an address that shuts down behind a load balancer. Once it begins,
// responses ask clients to close their connections, so that they reach another replica next. The
// zero value has not begun.
type departure struct {
	next   http.Handler
	refuse http.Handler // responds to clients that come too late
	state  atomic.Int32 // here, leaving or gone
}

// The states of a departure. When it is gone, it still serves the connections that clients opened
// before, and other replicas.
const (
	here = iota
	leaving
	gone
)

// isLeaving reports whether the departure has begun.
func (d *departure) isLeaving() bool { return d.state.Load() != here }

func (d *departure) begin() { d.state.Store(leaving) }

func (d *departure) refuseNew() { d.state.Store(gone) }

// lateKey is the key of the value that marks connections of clients that come too late.
type lateKey struct{}

// connContext is the ConnContext of the server.
func (d *departure) connContext(ctx context.Context, c net.Conn) context.Context {
	if d.state.Load() == gone {
		ctx = context.WithValue(ctx, lateKey{}, true)
	}
	return admission.ConnContext(ctx, c)
}

// ServeHTTP implements [http.Handler].
func (d *departure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.state.Load() == gone && r.Context().Value(lateKey{}) != nil && r.Header[streamable.HeaderPassedOn] == nil {
		d.refuse.ServeHTTP(w, r)
		return
	}
	d.next.ServeHTTP(w, r)
}
