package reach

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// RefusedPause is the shortest time between two lines about clients that are not let in.
const RefusedPause = 10 * time.Second

// Refusals are the requests with a key or token that let nobody in. Requests without one are no sign of anything: clients
// find out in this way where to log in.
type Refusals struct {
	Log *slog.Logger

	Mu     sync.Mutex
	All    int
	unsaid int // since the last line
	said   time.Time
}

// Add counts a request, and says so, but not more often than can be read.
func (r *Refusals) Add(req *http.Request, why error) {
	if req.Header.Get("Authorization") == "" && req.Header.Get("X-API-Key") == "" {
		return
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.All++
	r.unsaid++
	if now := time.Now(); now.Sub(r.said) >= RefusedPause {
		r.Log.Warn("junction: a client was not let in", "from", req.RemoteAddr, "error", why, "requests", r.unsaid)
		r.said, r.unsaid = now, 0
	}
}
