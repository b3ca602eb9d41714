package gateway

import (
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

// userOf is among whose instances that for a request counts: with Whose a user has several, and takes none of the others'.
func (m *member) userOf(req *mcp.Request) (id identity) {
	if m.upstream.Whose == nil || m.upstream.Isolation != PerUser {
		return id
	}
	return principalOf(req)
}

// makeRoom has there be fewer instances of a user than the limit, and, where users have several, fewer in all than that many
// users can have; the lock is held.
func (is *instances) makeRoom(of identity, limit int) error {
	own := 0
	for _, i := range is.all {
		if i.of == of {
			own++
		}
	}
	switch {
	case own >= limit && !is.endUnused(func(i *instance) bool { return i.of == of }):
		if of != (identity{}) {
			return fmt.Errorf("all of the user's %d instances are in use", limit)
		}
	case own < limit && len(is.all) >= limit*limit && !is.endUnused(func(*instance) bool { return true }):
		limit *= limit
	default:
		return nil
	}
	return fmt.Errorf("all of its %d instances are in use by others", limit)
}

// endUnused ends the instance of some that was not used for longest, if nobody uses it; the lock is held.
func (is *instances) endUnused(some func(*instance) bool) bool {
	var oldest any
	for whose, i := range is.all {
		if i.users == 0 && some(i) && (oldest == nil || i.used.Before(is.all[oldest].used)) {
			oldest = whose
		}
	}
	if oldest == nil {
		return false
	}
	is.all[oldest].cancel(nil)
	delete(is.all, oldest)
	return true
}
