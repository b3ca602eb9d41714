package share

import (
	"sync"
	"time"
)

// Recent stores keys for a limited time. If too many keys are added, it drops the older ones. It is
// safe for concurrent use.
type Recent[K comparable] struct {
	of   time.Duration
	most int

	mu          sync.Mutex
	now, before map[K]struct{}
	turned      time.Time
}

// NewRecent returns a Recent that stores each key for at least the duration of and at most twice as
// long. It may drop keys earlier if more than most keys are added during that time.
func NewRecent[K comparable](of time.Duration, most int) *Recent[K] {
	return &Recent[K]{of: of, most: most, now: map[K]struct{}{}}
}

// Add stores a key.
func (r *Recent[K]) Add(key K, now time.Time) { r.AddNew(key, now) }

// AddNew stores a key, and reports whether it was not stored before.
func (r *Recent[K]) AddNew(key K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	_, is := r.now[key]
	_, was := r.before[key]
	if len(r.now) >= r.most {
		r.before, r.now = r.now, map[K]struct{}{}
	}
	r.now[key] = struct{}{}
	return !is && !was
}

// Has reports whether a key is stored.
func (r *Recent[K]) Has(key K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	_, is := r.now[key]
	if !is {
		_, is = r.before[key]
	}
	return is
}

// Forget removes a key.
func (r *Recent[K]) Forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, key)
	delete(r.before, key)
}

func (r *Recent[K]) turn(now time.Time) {
	switch since := now.Sub(r.turned); {
	case since >= 2*r.of:
		r.before, r.now, r.turned = nil, map[K]struct{}{}, now
	case since >= r.of:
		r.before, r.now, r.turned = r.now, map[K]struct{}{}, now
	}
}
