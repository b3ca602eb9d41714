package main

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// refusedPause is the shortest time between two lines about clients that are not let in.
const refusedPause = 10 * time.Second

// refusals are the requests with a key or token that let nobody in. Requests without one are no sign of anything: clients
// find out in this way where to log in.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	all    int
	unsaid int // since the last line
	said   time.Time
}

// add counts a request, and says so, but not more often than can be read.
func (r *refusals) add(req *http.Request, why error) {
	if req.Header.Get("Authorization") == "" && req.Header.Get("X-API-Key") == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all++
	r.unsaid++
	if now := time.Now(); now.Sub(r.said) >= refusedPause {
		r.log.Warn("junction: a client was not let in", "from", req.RemoteAddr, "error", why, "requests", r.unsaid)
		r.said, r.unsaid = now, 0
	}
}

// count adds how many there were to what is counted.
func (x *access) count(registry prometheus.Registerer) error {
	if x == nil {
		return nil
	}
	return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "junction_refused_logins_total", Help: "Requests with a key or token that let nobody in."}, func() float64 {
		x.refused.mu.Lock()
		defer x.refused.mu.Unlock()
		return float64(x.refused.all)
	}))
}
