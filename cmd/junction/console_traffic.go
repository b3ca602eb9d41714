package main

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/console/live"
)

// keepTraffic keeps in a ring what all processes of this user say from now on. The function that it returns ends that, and
// forgets it.
func (a *app) keepTraffic(ctx context.Context) (ring *live.Ring, end func() error) {
	ring = live.Open(live.Options{})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		err := followTraffic(ctx, nil, trafficFollower{
			busy: func(pid int) {
				a.screen.Printf("The console does not show process %d: %d others watch it already.\n", pid, maxWatchers)
			},
			event: func(e shownEvent, _ bool) error {
				ring.Add(e.PID, &e.Event)
				return nil
			},
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
