package reach

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/pflag"
)

// Everywhere reports whether a listener is at all addresses of this machine.
func Everywhere(l net.Listener) (at *net.TCPAddr, is bool) {
	at, is = l.Addr().(*net.TCPAddr)
	return at, is && at.IP.IsUnspecified()
}

// ServeOptions are those of what serves clients.
func ServeOptions(a *cli.App) mcp.ServeOptions {
	o := mcp.ServeOptions{Logger: a.Logger(), Middleware: a.Around}
	if a.Traffic != nil {
		o.Wire = a.Traffic.Clients()
	}
	return o
}

const (
	// DefaultDrainDelay is for how long junction up goes on after SIGTERM where somebody can ask whether it is ready.
	DefaultDrainDelay = 3 * time.Second
	// LastResponseTime is how long the responses to requests that were cancelled at the end may take.
	LastResponseTime = time.Second
)

// A Drain says how an HTTP address ends.
type Drain struct {
	Delay time.Duration // after SIGTERM, in which requests are still taken and /readyz says that they should not come
	Time  time.Duration // for what runs then
}

func (d *Drain) Flags(flags *pflag.FlagSet) {
	flags.DurationVar(&d.Delay, "drain-delay", 0, "with --http: go on for this `TIME` after SIGTERM, in which /readyz says 503 (default "+DefaultDrainDelay.String()+" with --admin)")
	flags.DurationVar(&d.Time, "drain-time", mcp.DefaultDrainTimeout, "with --http: let requests that run end within this `TIME` when it ends")
}

// Check says what is wrong with the flags.
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

// DelayEnd goes on for a while where SIGTERM ended ctx: balancers send requests until they see that it is not ready. Ctrl-C is not
// delayed, and a second signal ends the delay.
func DelayEnd(ctx context.Context, a *cli.App, d Drain) {
	if d.Delay <= 0 || !errors.Is(context.Cause(ctx), cli.ErrTerminated) {
		return
	}
	a.Screen.Printf("junction: it ends in %v\n", d.Delay)
	select {
	case <-time.After(d.Delay):
	case <-a.Kill:
	}
}
