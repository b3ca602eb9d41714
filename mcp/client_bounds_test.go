package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestTheCacheCountsAllBytesItKeeps(t *testing.T) {
	c := newCache()
	meta := json.RawMessage(`{"x":"` + string(make([]byte, 4<<20)) + `"}`)
	for i := range maxCached {
		req := &Request{Method: "tools/list", Params: fmt.Appendf(nil, `{"cursor":"%d"}`, i)}
		c.put(req, &Result{JSON: json.RawMessage(`{"tools":[]}`), Meta: meta, TTL: time.Hour}, 0)
	}
	sum := 0
	for _, e := range c.entries {
		sum += len(e.result.JSON) + len(e.result.Meta)
	}
	if sum > maxCachedBytes {
		t.Errorf("the cache keeps %d MiB, at most %d MiB were promised", sum>>20, maxCachedBytes>>20)
	}
}

func TestCloseEndsWatchToolsOfAHandler(t *testing.T) {
	s := NewServer("s", "1")
	AddTool(s, "x", func(context.Context, struct{}) (string, error) { return "", nil })
	c := NewClient(s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan struct{})
	go func() {
		for range c.WatchTools(ctx) {
			select {
			case <-first:
			default:
				close(first)
			}
		}
	}()
	<-first
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("Close waits for WatchTools, which nothing but its caller's context ends")
		cancel()
		<-closed
	}
}
