package authserver

import (
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

// maxAttempted is the largest number of names whose attempts are counted. Beyond it, the counter
// with the fewest attempts is dropped. Among equal ones, the oldest is dropped.
const maxAttempted = 10_000

// attempts counts attempts by name, each within a period. The zero value is ready to use.
type attempts struct {
	mu sync.Mutex
	by map[string]*tries
}

type tries struct {
	count int
	until time.Time
}

// An attempt is one use of a name. A period allows only a limited number of them.
type attempt struct {
	name string
	most int
}

// take counts all the given attempts if each name is below its limit. It reports whether it counted
// them.
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
	if len(a.by) >= maxAttempted { // keep the highest counts, so that counters for other names cannot push one out
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

// forget subtracts attempts that succeeded.
func (a *attempts) forget(names ...attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range names {
		if t := a.by[one.name]; t != nil && t.count > 0 {
			t.count--
		}
	}
}

// A waiter is a waiting login. Sites take turns, and only one login at a time waits in each slot.
type waiter struct{ site, slot string }

// waiting holds the occupied slots and places of waiting logins.
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

// addressOf returns the address of a request's sender. For IPv6 it returns the network, because one
// machine can use many addresses of it.
func addressOf(r *http.Request) string { return share.Key("", "", r.RemoteAddr) }
