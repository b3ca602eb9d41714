package reach

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// RefusedPause is the shortest time between two log lines about refused clients.
const RefusedPause = 10 * time.Second

// Refusals counts the requests with an invalid key or token. It ignores requests without one,
// because clients send them to find out where to log in. It is safe for concurrent use.
type Refusals struct {
	Log *slog.Logger

	Mu     sync.Mutex
	All    int
	unsaid int // requests since the last line
	said   time.Time
}

// Add counts a request, and logs it if the last line is older than [RefusedPause].
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
