package main

import (
	"context"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/live"
)

// followTraffic keeps in a ring what all processes of this user say from now on. The function that it returns ends that, and
// forgets it.
func (a *app) followTraffic(ctx context.Context) (ring *live.Ring, end func() error) {
	ring = live.Open(live.Options{})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { a.keepTraffic(ctx, ring) })
	return ring, func() error {
		cancel()
		following.Wait()
		return ring.Close()
	}
}

// keepTraffic keeps messages until ctx is done.
func (a *app) keepTraffic(ctx context.Context, ring *live.Ring) {
	dir, err := statusFolder()
	if err != nil {
		a.screen.Printf("The console shows no traffic: %v\n", err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{ctx: ctx, events: make(chan shownEvent), ended: make(chan string), seen: map[string]bool{}}
	defer w.readers.Wait()
	defer cancel()
	look := time.NewTicker(lookPause)
	defer look.Stop()
	defer markWatching()()
	for w.join(trafficSockets(dir, nil, w.seen)); ; {
		select {
		case e := <-w.events:
			if e.Busy {
				a.screen.Printf("The console does not show process %d: %d others watch it already.\n", e.PID, maxWatchers)
				continue
			}
			ring.Add(e.PID, &e.Event)
		case path := <-w.ended:
			delete(w.seen, path)
		case <-look.C:
			w.join(trafficSockets(dir, nil, w.seen))
		case <-ctx.Done():
			return
		}
	}
}
