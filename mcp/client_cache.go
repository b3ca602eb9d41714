package mcp

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// Limits of what a client keeps of one server's answers.
const (
	maxCached     = 256     // answers
	maxCachedSize = 4 << 20 // bytes of one answer
	maxCacheTTL   = 24 * time.Hour
)

// A cache keeps answers as long as the server said they are fresh
// (2026-07-28 server/utilities/caching), and no longer than until the server
// tells of a change. A nil cache keeps nothing.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]cached
}

type cacheKey struct{ method, params string }

type cached struct {
	result Result
	until  time.Time
}

func newCache() *cache { return &cache{entries: make(map[cacheKey]cached)} }

func keyOf(req *Request) cacheKey { return cacheKey{req.Method, string(req.Params)} }

func (c *cache) get(req *Request) (Result, bool) {
	if c == nil || !revision.Cacheable(req.Method) {
		return Result{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[keyOf(req)]
	if !ok {
		return Result{}, false
	}
	if !time.Now().Before(e.until) {
		delete(c.entries, keyOf(req))
		return Result{}, false
	}
	return e.result, true
}

func (c *cache) put(req *Request, r *Result) {
	if c == nil || r.TTL <= 0 || r.Type != "" && r.Type != resultComplete || !revision.Cacheable(req.Method) || len(r.JSON) > maxCachedSize {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[keyOf(req)] = cached{*r, time.Now().Add(min(r.TTL, maxCacheTTL))}
}

// drop forgets what a notification says has changed.
func (c *cache) drop(method string, params json.RawMessage) {
	if c == nil {
		return
	}
	var prefix string
	switch method {
	case notificationToolsChanged:
		prefix = "tools/"
	case notificationPromptsChanged:
		prefix = "prompts/"
	case notificationResourcesChanged, notificationUpdated:
		prefix = "resources/"
	default:
		return
	}
	uri, _ := jsonrpc.Unquote(memberOrNil(params, "uri"))
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if !strings.HasPrefix(key.method, prefix) || method == notificationUpdated && key.method != methodResourcesRead {
			continue
		}
		if read, _ := jsonrpc.Unquote(memberOrNil(json.RawMessage(key.params), "uri")); method == notificationUpdated && read != uri {
			continue
		}
		delete(c.entries, key)
	}
}
