package authserver

import (
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

// maxAttempted is the number of names whose attempts are counted at a time. Beyond it, the counter
// with the fewest attempts is dropped, and of these the oldest.
const maxAttempted = 10_000

// attempts counts attempts within a time, by name. The zero value is ready to use.
type attempts struct {
	mu sync.Mutex
	by map[string]*tries
}

type tries struct {
	count int
	until time.Time
}

// An attempt is counted under a name, with a limit per time.
type attempt struct {
	name string
	most int
}

// take counts an attempt under several names. It reports whether each was below its limit;
// otherwise it counts nothing.
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

// put adds a counter. The caller holds the lock.
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
	if len(a.by) >= maxAttempted { // a frequent name must not be dropped by adding counters for others
		least := ""
		for other, o := range a.by {
			if l := a.by[least]; l == nil || o.count < l.count || o.count == l.count && o.until.Before(l.until) {
				least = other
			}
		}
		delete(a.by, least)
	}
	a.by[name] = t
}

// forget takes back attempts that succeeded.
func (a *attempts) forget(names ...attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range names {
		if t := a.by[one.name]; t != nil && t.count > 0 {
			t.count--
		}
	}
}

// A waiter is a waiting login. It takes turns of its site. In each slot one login waits at a time.
type waiter struct{ site, slot string }

// waiting holds the waiting logins.
type waiting struct {
	places *share.Budget // by site

	mu    sync.Mutex
	slots map[string]bool // occupied slots
}

// begin adds a waiting login and reports whether it may wait.
func (w *waiting) begin(one waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slots[one.slot] || !w.places.Take(one.site) {
		return false
	}
	w.slots[one.slot] = true
	return true
}

// end removes a waiting login.
func (w *waiting) end(one waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots, one.slot)
	w.places.Give(one.site)
}

// addressOf returns the address of a request's sender; of IPv6 the network, because one machine has
// many addresses in it.
func addressOf(r *http.Request) string { return share.Key("", "", r.RemoteAddr) }
