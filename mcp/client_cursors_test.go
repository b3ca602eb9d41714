package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// The memory for the cursors of a list is bounded.
func TestTheCursorsOfAListHaveALimit(t *testing.T) {
	long, pages := strings.Repeat("x", 1<<20), 0
	var most uint64
	c := mcp.NewClientWith(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method != "tools/list" {
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
		}
		pages++
		if pages%50 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		if pages == 200 {
			return mcp.Result{JSON: json.RawMessage(`{"tools":[]}`)}, nil
		}
		return mcp.Result{JSON: json.RawMessage(fmt.Sprintf(`{"tools":[],"nextCursor":"%d%s"}`, pages, long))}, nil
	}), mcp.ClientOptions{})
	defer c.Close()
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Log(err)
		}
	}
	if most > 50<<20 {
		t.Errorf("after %d pages with cursors of 1 MiB %d MiB are held", pages, most>>20)
	}
}
