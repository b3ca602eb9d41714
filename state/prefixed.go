package state

import (
	"context"
	"strings"
	"time"
)

// Prefixed returns a view of a store in which the keys, the names of leases and the topics begin
// with prefix, so that features can share one store. Its methods take and return names without the
// prefix, in a [Hold] too. Close does nothing: the caller closes the store itself.
func Prefixed(store Shared, prefix string) Shared { return prefixed{store, prefix} }

type prefixed struct {
	store  Shared
	prefix string
}

// hold returns a hold of the view as one of the store. A zero hold stays zero.
func (p prefixed) hold(hold Hold) Hold {
	if hold != (Hold{}) {
		hold.Name = p.prefix + hold.Name
	}
	return hold
}

// named returns the name in the store, or "", which every store refuses, if there is no name.
func (p prefixed) named(name string) string {
	if name == "" {
		return ""
	}
	return p.prefix + name
}

func (p prefixed) write(w Write) Write {
	w.Hold = p.hold(w.Hold)
	return w
}

func (p prefixed) Get(ctx context.Context, key string) (Entry, error) {
	e, err := p.store.Get(ctx, p.named(key))
	e.Key = strings.TrimPrefix(e.Key, p.prefix)
	return e, err
}

func (p prefixed) Put(ctx context.Context, key string, value []byte, w Write) (Version, error) {
	return p.store.Put(ctx, p.named(key), value, p.write(w))
}

func (p prefixed) CompareAndSwap(ctx context.Context, key string, old Version, value []byte, w Write) (Version, error) {
	return p.store.CompareAndSwap(ctx, p.named(key), old, value, p.write(w))
}

func (p prefixed) Delete(ctx context.Context, key string, hold Hold) error {
	return p.store.Delete(ctx, p.named(key), p.hold(hold))
}

func (p prefixed) List(ctx context.Context, prefix, after string, limit int) ([]Entry, error) {
	entries, err := p.store.List(ctx, p.prefix+prefix, p.prefix+after, limit)
	for i := range entries {
		entries[i].Key = strings.TrimPrefix(entries[i].Key, p.prefix)
	}
	return entries, err
}

func (p prefixed) Acquire(ctx context.Context, name string, ttl time.Duration) (Hold, error) {
	hold, err := p.store.Acquire(ctx, p.named(name), ttl)
	hold.Name = strings.TrimPrefix(hold.Name, p.prefix)
	return hold, err
}

func (p prefixed) Renew(ctx context.Context, hold Hold, ttl time.Duration) error {
	return p.store.Renew(ctx, p.hold(hold), ttl)
}

func (p prefixed) Release(ctx context.Context, hold Hold) error {
	return p.store.Release(ctx, p.hold(hold))
}

func (p prefixed) Append(ctx context.Context, key string, value []byte, w Write) (uint64, error) {
	return p.store.Append(ctx, p.named(key), value, p.write(w))
}

func (p prefixed) Read(ctx context.Context, key string, after uint64, limit int) ([]Record, error) {
	return p.store.Read(ctx, p.named(key), after, limit)
}

func (p prefixed) Trim(ctx context.Context, key string, keep Keep, hold Hold) error {
	return p.store.Trim(ctx, p.named(key), keep, p.hold(hold))
}

func (p prefixed) Publish(ctx context.Context, topic string) error {
	return p.store.Publish(ctx, p.named(topic))
}

func (p prefixed) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	return p.store.Subscribe(ctx, p.named(topic))
}

func (p prefixed) Now(ctx context.Context) (time.Time, error) { return p.store.Now(ctx) }

func (p prefixed) Close() error { return nil }
