package authserver

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// maxAttempted bounds whose attempts are counted at a time. Beyond it others are forgotten.
const maxAttempted = 10_000

// attempts count what somebody tries, in a time. The zero value has counted nothing.
type attempts struct {
	mu sync.Mutex
	by map[string]*tries
}

type tries struct {
	count int
	until time.Time
}

// An attempt is counted under a name.
type attempt struct {
	name string
	most int
}

// take counts an attempt under several names, and reports whether each had one left.
func (a *attempts) take(now time.Time, in time.Duration, all ...attempt) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range all {
		if t := a.by[one.name]; t != nil && now.Before(t.until) && t.count >= one.most {
			return false
		}
	}
	for _, one := range all {
		t := a.by[one.name]
		if t == nil || !now.Before(t.until) {
			t = &tries{until: now.Add(in)}
			a.put(one.name, t, now)
		}
		t.count++
	}
	return true
}

// put begins to count; the lock is held.
func (a *attempts) put(name string, t *tries, now time.Time) {
	if a.by == nil {
		a.by = map[string]*tries{}
	}
	if len(a.by) >= maxAttempted {
		for other, o := range a.by {
			if !now.Before(o.until) {
				delete(a.by, other)
			}
		}
	}
	for other := range a.by {
		if len(a.by) < maxAttempted {
			break
		}
		delete(a.by, other)
	}
	a.by[name] = t
}

// forget has attempts not count that came to a good end.
func (a *attempts) forget(names ...attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range names {
		if t := a.by[one.name]; t != nil && t.count > 0 {
			t.count--
		}
	}
}

// addressOf is where a request comes from: of IPv6 the network, in which one machine has many addresses.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	if at = at.Unmap().WithZone(""); at.Is6() {
		if network, err := at.Prefix(64); err == nil {
			return network.String()
		}
	}
	return at.String()
}
