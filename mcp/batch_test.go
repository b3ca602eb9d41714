package mcp_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func TestChangesOfABatchAreSeenAtOnce(t *testing.T) {
	for _, revision := range []string{newestLegacy, modern} {
		synctest.Test(t, func(t *testing.T) { testBatch(t, revision) })
	}
}

func testBatch(t *testing.T, revision string) {
	s := mcp.NewServerWith("batch", "1", mcp.ServerOptions{Capabilities: mcp.ServerCapabilities{Prompts: &mcp.ListCapability{}}})
	mcp.AddTool(s, "old", func(context.Context, struct{}) (string, error) { return "", nil })
	c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var tools, prompts atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := make(chan struct{})
	go c.ListenWith(ctx, mcp.AllLists(), func(n mcp.Notification) {
		switch n.Method {
		case "notifications/tools/list_changed":
			tools.Add(1)
		case "notifications/prompts/list_changed":
			prompts.Add(1)
		}
	}, func(mcp.SubscriptionFilter) { close(ready) })
	<-ready
	s.Batch(func() {
		s.RemoveTool("old")
		for i := range 100 {
			mcp.AddTool(s, fmt.Sprintf("new-%02d", i), func(context.Context, struct{}) (string, error) { return "new", nil })
			time.Sleep(time.Second)
		}
		s.Batch(func() { s.RemoveTool("new-99") })
		if got := names(t, c); !slices.Equal(got, []string{"old"}) {
			t.Errorf("during the batch the tools are %q", got)
		}
		if s.Tool("old") == nil || s.Tool("new-00") != nil {
			t.Error("Server.Tool finds tools of the batch")
		}
	})
	time.Sleep(time.Second)
	if got := names(t, c); len(got) != 99 || got[0] != "new-00" {
		t.Errorf("after the batch the tools are %q", got)
	}
	if tools.Load() != 1 || prompts.Load() != 0 {
		t.Errorf("%d notifications for tools and %d for prompts, expected 1 and 0", tools.Load(), prompts.Load())
	}
}

// A panic in a batch, such as that of AddTool, publishes what was done before.
func TestBatchesThatPanicEnd(t *testing.T) {
	s := mcp.NewServer("batch", "1")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		s.Batch(func() {
			mcp.AddTool(s, "a", func(context.Context, struct{}) (string, error) { return "", nil })
			mcp.AddTool(s, "a", func(context.Context, struct{}) (string, error) { return "", nil })
		})
	}()
	mcp.AddTool(s, "b", func(context.Context, struct{}) (string, error) { return "", nil })
	if got := names(t, mcp.NewClient(s)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the tools are %q", got)
	}
}

// names returns the names of the tools in the order of the list.
func names(t *testing.T, c *mcp.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}
