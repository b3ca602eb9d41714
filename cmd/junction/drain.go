package main

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/pflag"
)

const (
	// defaultDrainDelay is for how long junction up goes on after SIGTERM where somebody can ask whether it is ready.
	defaultDrainDelay = 3 * time.Second
	// lastResponseTime is how long the responses to requests that were cancelled at the end may take.
	lastResponseTime = time.Second
)

// A drain says how an HTTP address ends.
type drain struct {
	delay time.Duration // after SIGTERM, in which requests are still taken and /readyz says that they should not come
	time  time.Duration // for what runs then
}

func (d *drain) flags(flags *pflag.FlagSet) {
	flags.DurationVar(&d.delay, "drain-delay", 0, "with --http: go on for this `TIME` after SIGTERM, in which /readyz says 503 (default "+defaultDrainDelay.String()+" with --admin)")
	flags.DurationVar(&d.time, "drain-time", mcp.DefaultDrainTimeout, "with --http: let requests that run end within this `TIME` when it ends")
}

// check says what is wrong with the flags.
func (d *drain) check() error {
	for _, one := range []struct {
		flag  string
		value time.Duration
	}{{"--drain-delay", d.delay}, {"--drain-time", d.time}} {
		if one.value < 0 || one.value > settings.MaxDrain {
			return cli.Usagef("%s: expected up to %v, got %v", one.flag, settings.MaxDrain, one.value)
		}
	}
	return nil
}

// delayEnd goes on for a while where SIGTERM ended ctx: balancers send requests until they see that it is not ready. Ctrl-C is not
// delayed, and a second signal ends the delay.
func delayEnd(ctx context.Context, a *cli.App, d drain) {
	if d.delay <= 0 || !errors.Is(context.Cause(ctx), cli.ErrTerminated) {
		return
	}
	a.Screen.Printf("junction: it ends in %v\n", d.delay)
	select {
	case <-time.After(d.delay):
	case <-a.Kill:
	}
}
