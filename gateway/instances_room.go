package gateway

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/share"
)

// limitsUsers reports whether each user has a separate limit. With Whose, one user may have several
// instances, so a separate limit keeps enough instances for other users.
func (m *member) limitsUsers() bool {
	return m.upstream.Whose != nil && m.upstream.Isolation == PerUser
}

// makeRoom ends an unused instance if the limit is reached, and fails if all are in use. If several
// is set, each user may have at most limit instances, and all users together limit*limit. The
// caller holds the lock.
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

// mayUse returns an error if a user may not use another instance at the same time. A part of the
// common limit is reserved for users that use none. The caller holds the lock.
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
		return fmt.Errorf("the user is using %d of the server's %d instances, and the rest are reserved for other users", used, limit)
	}
	return nil
}

// endUnused ends an unused instance for which some reports true, and reports whether it found one.
// It selects the user with the most instances, and of these the one unused for longest. The caller
// holds the lock.
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
