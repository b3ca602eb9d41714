package gateway

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/share"
)

// several reports whether a user has a limit of their own: with Whose they have several instances, and take none of the others'.
func (m *member) several() bool { return m.upstream.Whose != nil && m.upstream.Isolation == PerUser }

// makeRoom has there be fewer instances than the limit; the lock is held. Where users have a limit of their own, there are fewer of the
// user than that, and fewer in all than that many users can have.
func (is *instances) makeRoom(of identity, limit int, several bool) error {
	if !several {
		if len(is.all) >= limit && !is.endUnused(func(*instance) bool { return true }) {
			return fmt.Errorf("all of its %d instances are in use by others", limit)
		}
		return nil
	}
	own := 0
	for _, i := range is.all {
		if i.of == of {
			own++
		}
	}
	switch {
	case own >= limit && !is.endUnused(func(i *instance) bool { return i.of == of }):
		return fmt.Errorf("all of the user's %d instances are in use", limit)
	case own < limit && len(is.all) >= limit*limit && !is.endUnused(func(*instance) bool { return true }):
		return fmt.Errorf("all of its %d instances are in use by others", limit*limit)
	}
	return nil
}

// mayUse says why a user may use no further instance at the same time, where all share one limit: a part of it is for users who use
// none. The lock is held.
func (is *instances) mayUse(of identity, limit int) error {
	if of == (identity{}) {
		return nil
	}
	used := 0
	for _, i := range is.all {
		if i.of == of && i.users > 0 {
			used++
		}
	}
	if most := limit - share.Reserve(limit); used >= most {
		return fmt.Errorf("the user has %d of its %d instances in use, and the others are for other users", used, limit)
	}
	return nil
}

// endUnused ends the instance of some that was not used for longest, if nobody uses it, of a user who has most; the lock is held.
func (is *instances) endUnused(some func(*instance) bool) bool {
	has := map[identity]int{}
	for _, i := range is.all {
		has[i.of]++
	}
	var oldest any
	for whose, i := range is.all {
		if i.users > 0 || !some(i) {
			continue
		}
		if oldest != nil {
			before := is.all[oldest]
			if has[i.of] < has[before.of] || has[i.of] == has[before.of] && !i.used.Before(before.used) {
				continue
			}
		}
		oldest = whose
	}
	if oldest == nil {
		return false
	}
	is.all[oldest].cancel(nil)
	delete(is.all, oldest)
	return true
}
