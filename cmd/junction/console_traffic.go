package main

import (
	"context"
	"os"
	"sync"

	"github.com/junction-mcp/junction/console/live"
	"github.com/junction-mcp/junction/traffic"
)

// keepTraffic keeps in a ring what all processes of this user say from now on. The function that it returns ends that, and
// forgets it.
func (a *app) keepTraffic(ctx context.Context) (ring *live.Ring, end func() error) {
	ring = live.Open(live.Options{})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	own := 0
	if a.traffic != nil { // without a socket in between, and without JSON
		own = os.Getpid()
		watch := a.traffic.Join(true)
		following.Go(func() {
			_ = watch(ctx, func(events []*traffic.Event) error {
				ring.Add(own, events...)
				return nil
			})
		})
	}
	following.Go(func() {
		err := followTraffic(ctx, nil, trafficFollower{
			not:   own,
			notes: true,
			busy: func(pid int) {
				a.screen.Printf("The console does not show process %d: %d others watch it already.\n", pid, maxWatchers)
			},
			event: func(e shownEvent, _ bool) error {
				ring.Add(e.PID, &e.Event)
				return nil
			},
			ended: ring.End,
		})
		if ctx.Err() == nil {
			a.screen.Printf("The console shows no traffic: %v\n", err)
		}
	})
	return ring, func() error {
		cancel()
		following.Wait()
		return ring.Close()
	}
}
