package apikey

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/listfile"
)

const (
	// useUnit is the precision of the time of a key's last use.
	useUnit = time.Hour
	// savePause is the time between two writes of the times of uses.
	savePause = 10 * time.Minute
)

// A use is the time when a key was last used. It has a file of its own, because the file of keys
// would otherwise change, and be read again by each process, with each use.
type use struct {
	ID string    `json:"id"`
	At time.Time `json:"at"` // truncated to useUnit
}

// uses holds the uses of keys that are not in their file yet. There are at most as many as keys.
type uses struct {
	open func() (*listfile.File[use], error)

	mu      sync.Mutex
	marked  map[string]time.Time
	unsaved map[string]time.Time
	saved   time.Time // time of the last write
}

// usesPath returns the file with the uses of the keys in a file.
func usesPath(path string) string { return strings.TrimSuffix(path, ".json") + ".used.json" }

// mark records a use of a key.
func (u *uses) mark(id string, now time.Time) {
	at := now.UTC().Truncate(useUnit)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.marked[id].Equal(at) {
		return
	}
	if u.marked == nil || len(u.marked) >= maxKeys {
		u.marked = map[string]time.Time{}
	}
	if u.unsaved == nil {
		u.unsaved = map[string]time.Time{}
	}
	u.marked[id], u.unsaved[id] = at, at
}

// SaveUses writes when keys were used, at most once in 10 minutes unless now is set. It does nothing
// if no key was used in another hour since.
func (k *Keys) SaveUses(ctx context.Context, now bool) error {
	u := &k.uses
	u.mu.Lock()
	fresh := maps.Clone(u.unsaved)
	if len(fresh) == 0 || !now && time.Since(u.saved) < savePause {
		u.mu.Unlock()
		return nil
	}
	u.unsaved, u.saved = nil, time.Now()
	u.mu.Unlock()
	err := k.saveUses(ctx, fresh)
	if err != nil { // the next call tries again
		u.mu.Lock()
		defer u.mu.Unlock()
		maps.Copy(fresh, u.unsaved)
		u.unsaved = fresh
	}
	return err
}

func (k *Keys) saveUses(ctx context.Context, fresh map[string]time.Time) error {
	keys, err := k.All()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, key := range keys {
		known[key.ID] = true
	}
	file, err := k.uses.open()
	if err != nil {
		return err
	}
	return file.Change(ctx, func(all []use) ([]use, error) {
		at := map[string]time.Time{}
		for _, one := range all {
			at[one.ID] = one.At
		}
		for id, last := range fresh {
			if last.After(at[id]) { // another process may have written a later one
				at[id] = last
			}
		}
		maps.DeleteFunc(at, func(id string, _ time.Time) bool { return !known[id] })
		next := make([]use, 0, len(at))
		for _, id := range slices.Sorted(maps.Keys(at)) {
			next = append(next, use{id, at[id]})
		}
		return next, nil
	})
}

// useName returns the name of a use in its list.
func useName(u use) string { return u.ID }

// Used returns the hour of the last use of each key, by ID. Uses of the last minutes may be missing.
func (k *Keys) Used() (map[string]time.Time, error) {
	file, err := k.uses.open()
	if err != nil {
		return nil, err
	}
	all, err := file.All()
	at := make(map[string]time.Time, len(all))
	for _, one := range all {
		at[one.ID] = one.At
	}
	return at, err
}
