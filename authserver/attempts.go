package authserver

import (
	"net/http"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

// maxAttempted bounds whose attempts are counted at a time. Beyond it those are forgotten that tried least, of these the oldest.
const maxAttempted = 10_000

// attempts counts attempts in a time, by name. The zero value has counted none.
type attempts struct {
	mu sync.Mutex
	by map[string]*tries
}

type tries struct {
	count int
	until time.Time
}

// An attempt is counted under a name, of which most are allowed in a time.
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
	if len(a.by) >= maxAttempted { // who tried often must not be forgotten by making others count
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

// A waiter is a login that waits: whose share of the turns it takes, and in which slot, in which one waits at a time.
type waiter struct{ site, slot string }

// waiting are logins that wait.
type waiting struct {
	places *share.Budget // by sites

	mu    sync.Mutex
	slots map[string]bool // that are taken
}

// begin notes that a login waits, and reports whether it may.
func (w *waiting) begin(one waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slots[one.slot] || !w.places.Take(one.site) {
		return false
	}
	w.slots[one.slot] = true
	return true
}

// end notes that a login does not wait any more.
func (w *waiting) end(one waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots, one.slot)
	w.places.Give(one.site)
}

// addressOf is where a request comes from: of IPv6 the network, in which one machine has many addresses.
func addressOf(r *http.Request) string { return share.Key("", "", r.RemoteAddr) }
