package reach

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// RefusalInterval is the shortest time between two log lines about refused clients.
const RefusalInterval = 10 * time.Second

// RefusalCounter counts the requests with an invalid key or token. It ignores requests without one,
// because clients send them to find out where to log in. It is safe for concurrent use.
type RefusalCounter struct {
	Log *slog.Logger

	Mu     sync.Mutex
	All    int
	unsaid int // requests since the last line
	said   time.Time
}

// Add counts a request, and logs it if the last line is older than [RefusalInterval].
func (r *RefusalCounter) Add(req *http.Request, why error) {
	if req.Header.Get("Authorization") == "" && req.Header.Get("X-API-Key") == "" {
		return
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.All++
	r.unsaid++
	if now := time.Now(); now.Sub(r.said) >= RefusalInterval {
		r.Log.Warn("junction: a client was not let in", "from", req.RemoteAddr, "error", why, "requests", r.unsaid)
		r.said, r.unsaid = now, 0
	}
}
