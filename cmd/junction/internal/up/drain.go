package up

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
)

// WildcardAddr reports whether an address stands for all addresses of this machine. It returns the
// address.
func WildcardAddr(addr net.Addr) (at *net.TCPAddr, is bool) {
	at, is = addr.(*net.TCPAddr)
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

// drainOf returns the times of the drain by the settings.
func (f *Front) drainOf(s *settings.Drain) Drain {
	d := Drain{Time: mcp.DefaultDrainTimeout}
	if f.Admin != "" { // clients of --admin can check readiness
		d.Delay = DefaultDrainDelay
	}
	if s != nil && s.Delay != nil {
		d.Delay = *s.Delay
	}
	if s != nil && s.Time != nil {
		d.Time = *s.Time
	}
	return d
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

// untilKilled returns a context of ctx that also ends at a second signal. The caller must call end.
func untilKilled(ctx context.Context, a *cli.App) (until context.Context, end func()) {
	until, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.Kill:
			cancel()
		case <-until.Done():
		}
	})
	return until, func() { cancel(); waiting.Wait() }
}

// A departure is the handler of an address that shuts down behind a load balancer. Once it begins,
// responses ask clients to close their connections, so that they reach another replica next. The
// zero value has not begun.
type departure struct {
	next   http.Handler
	refuse http.Handler // responds to clients that come too late
	ring   *seal.Ring   // of the replicas; nil without others
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
	if d.state.Load() == gone && r.Context().Value(lateKey{}) != nil && !d.isOfReplica(r) {
		d.refuse.ServeHTTP(w, r)
		return
	}
	d.next.ServeHTTP(w, r)
}

// isOfReplica reports whether another replica passed the request on.
func (d *departure) isOfReplica(r *http.Request) bool {
	if d.ring == nil || !passed.Is(r) {
		return false
	}
	_, err := passed.Open(d.ring, r, time.Now())
	return err == nil
}
