package listfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// maxAge is how long elements are found after the store was last reached.
const maxAge = 5 * time.Minute

// ErrStale means that the list in a store was not read for so long that it may have changed.
var ErrStale = errors.New("the shared list may have changed since it was last read")

// OpenShared returns the list under a key of the store of replicas, which may be missing. The
// arguments what and name are as in [Open]. While the Group runs, the list follows the changes of
// other replicas.
func OpenShared[T any](ctx context.Context, g *replicas.Group, key, what string, name func(T) string) (*File[T], error) {
	f := &File[T]{source: source{path: key, what: what, shared: g}, name: name}
	f.take = f.decode
	g.Follow(key, f.Reread)
	return f, f.Reread(ctx)
}

// Reread reads a list in a store if it has changed. It does nothing for a file.
func (s *source) Reread(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	_, err := s.readShared(ctx)
	return err
}

// readShared reads the list, and returns its version. The caller holds the lock reading.
func (s *source) readShared(ctx context.Context) (state.Version, error) {
	e, err := s.shared.Get(ctx, s.path)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return "", fmt.Errorf("read %s: %w", s.what, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil && s.taken && s.stamp == string(e.Version) {
		return e.Version, nil
	}
	if s.fault = s.take(e.Value); s.fault != nil {
		s.fault = fmt.Errorf("read %s: %w", s.what, s.fault)
	}
	s.stamp, s.taken = string(e.Version), true
	return e.Version, s.fault
}

// currentShared returns an error if the list cannot be trusted. The caller holds the lock.
func (s *source) currentShared() error {
	if age := s.shared.Age(); age > maxAge {
		return fmt.Errorf("%s: %w %v ago", s.what, ErrStale, age.Round(time.Second))
	}
	return s.fault
}

// changeShared writes the JSON of the list that changed returns, until no other process changes it
// at the same time.
func (s *source) changeShared(ctx context.Context, changed func() (any, error)) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	for {
		version, err := s.readShared(ctx)
		if err != nil {
			return err
		}
		all, err := s.locked(changed)
		if err != nil {
			return err
		}
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if len(text) > maxSize {
			return fmt.Errorf("write %s: they would be larger than %d MiB", s.what, maxSize>>20)
		}
		_, err = s.shared.CompareAndSwap(ctx, s.path, version, text, state.Write{})
		if errors.Is(err, state.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", s.what, err)
		}
		if _, err := s.readShared(ctx); err != nil {
			return err
		}
		return s.shared.Changed(ctx, s.path)
	}
}

// locked runs changed under the lock of the list.
func (s *source) locked(changed func() (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return changed()
}
