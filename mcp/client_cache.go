package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// Limits of the results of one server that a client caches.
const (
	maxCached      = 256      // results
	maxCachedSize  = 4 << 20  // bytes of one result
	maxCachedBytes = 16 << 20 // bytes of all results
	maxCacheTTL    = 24 * time.Hour
)

// A cache stores results for as long as the server declared them fresh (2026-07-28
// server/utilities/caching), at most until a notification of a change. A nil cache stores nothing.
type cache struct {
	mu         sync.Mutex
	entries    map[cacheKey]cached
	bytes      int // of entries
	generation int // number of changes that the server notified of
}

type cacheKey struct{ method, params string }

type cached struct {
	result Result
	size   int
	until  time.Time
}

func newCache() *cache { return &cache{entries: make(map[cacheKey]cached)} }

func keyOf(req *Request) cacheKey { return cacheKey{req.Method, string(req.Params)} }

// get returns the cached result of a request. If there is none, it returns the generation to pass
// to put.
func (c *cache) get(req *Request) (result Result, generation int, ok bool) {
	if c == nil || !revision.MethodNamed(req.Method).Cached {
		return Result{}, 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[keyOf(req)]
	if ok && !time.Now().Before(e.until) {
		c.remove(keyOf(req))
		ok = false
	}
	if !ok {
		return Result{}, c.generation, false
	}
	return e.result, 0, true
}

// put stores a result, unless the server notified of a change since generation, as the result may
// be older than the change.
func (c *cache) put(req *Request, r *Result, generation int) {
	size := len(r.JSON) + len(r.Meta) + len(req.Params)
	if c == nil || r.TTL <= 0 || r.JSON == nil || !r.IsComplete() || !revision.MethodNamed(req.Method).Cached || size > maxCachedSize {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	c.remove(keyOf(req))
	if len(c.entries) >= maxCached || c.bytes+size > maxCachedBytes {
		clear(c.entries)
		c.bytes = 0
	}
	kept := r.WithJSON(slices.Clone(r.JSON)) // the copy does not keep the whole message in memory
	kept.Meta = slices.Clone(r.Meta)
	c.entries[keyOf(req)] = cached{kept, size, time.Now().Add(min(r.TTL, maxCacheTTL))}
	c.bytes += size
}

// remove removes an entry. The caller holds c.mu.
func (c *cache) remove(key cacheKey) {
	c.bytes -= c.entries[key].size
	delete(c.entries, key)
}

// drop removes the entries that may be stale after a notification.
func (c *cache) drop(method string, params json.RawMessage) {
	if c == nil {
		return
	}
	capability := revision.Changed(method)
	if method == notificationUpdated {
		capability = "resources"
	}
	if capability == "" {
		return
	}
	uri, _ := jsonrpc.Unquote(memberOrNil(params, "uri"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for key := range c.entries {
		if revision.MethodNamed(key.method).Capability == capability && (method != notificationUpdated || key.depends(uri)) {
			c.remove(key)
		}
	}
}

// depends reports whether an update of one resource makes a result stale. This holds for a read of
// that resource, and for all results about skills, as the resource may be a file of a skill.
func (key cacheKey) depends(uri string) bool {
	if key.method != methodResourcesRead {
		return strings.HasPrefix(key.method, "skills/")
	}
	read, _ := jsonrpc.Unquote(memberOrNil(json.RawMessage(key.params), "uri"))
	return read == uri
}
