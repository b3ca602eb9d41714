package replicas

import (
	"context"
	"errors"
	"time"

	"github.com/junction-mcp/junction/state"
)

// run runs an operation of a caller, unless the store is away.
func run[T any](ctx context.Context, g *Group, do func(context.Context) (T, error)) (done T, err error) {
	if err := g.Away(); err != nil {
		return done, err
	}
	done, err = within(ctx, do)
	if errors.Is(err, state.ErrUnavailable) {
		g.Check()
	}
	return done, err
}

// Get implements [state.KV].
func (g *Group) Get(ctx context.Context, key string) (state.Entry, error) {
	return run(ctx, g, func(ctx context.Context) (state.Entry, error) { return g.store.Get(ctx, key) })
}

// Put implements [state.KV].
func (g *Group) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	return run(ctx, g, func(ctx context.Context) (state.Version, error) { return g.store.Put(ctx, key, value, w) })
}

// CompareAndSwap implements [state.KV].
func (g *Group) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	return run(ctx, g, func(ctx context.Context) (state.Version, error) {
		return g.store.CompareAndSwap(ctx, key, old, value, w)
	})
}

// Delete implements [state.KV].
func (g *Group) Delete(ctx context.Context, key string, hold state.Hold) error {
	_, err := run(ctx, g, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.store.Delete(ctx, key, hold) })
	return err
}

// List implements [state.KV].
func (g *Group) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	return run(ctx, g, func(ctx context.Context) ([]state.Entry, error) { return g.store.List(ctx, prefix, after, limit) })
}

// Acquire implements [state.Lease].
func (g *Group) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	return run(ctx, g, func(ctx context.Context) (state.Hold, error) { return g.store.Acquire(ctx, name, ttl) })
}

// Renew implements [state.Lease].
func (g *Group) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	_, err := run(ctx, g, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.store.Renew(ctx, hold, ttl) })
	return err
}

// Release implements [state.Lease].
func (g *Group) Release(ctx context.Context, hold state.Hold) error {
	_, err := run(ctx, g, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.store.Release(ctx, hold) })
	return err
}

// Append implements [state.Log].
func (g *Group) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	return run(ctx, g, func(ctx context.Context) (uint64, error) { return g.store.Append(ctx, key, value, w) })
}

// Read implements [state.Log].
func (g *Group) Read(ctx context.Context, key string, after uint64, limit int) ([]state.Record, error) {
	return run(ctx, g, func(ctx context.Context) ([]state.Record, error) { return g.store.Read(ctx, key, after, limit) })
}

// Trim implements [state.Log].
func (g *Group) Trim(ctx context.Context, key string, keep state.Keep, hold state.Hold) error {
	_, err := run(ctx, g, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.store.Trim(ctx, key, keep, hold) })
	return err
}

// Close closes the store.
func (g *Group) Close() error { return g.store.Close() }
