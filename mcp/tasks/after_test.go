package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// A slowStore delays the storing of a task.
type slowStore struct {
	state.Store
	storing chan struct{}
	store   chan struct{}
}

func (s *slowStore) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if old == "" {
		s.storing <- struct{}{}
		<-s.store
	}
	return s.Store.CompareAndSwap(ctx, key, old, value, w)
}

// A call that ends while it becomes a task by its time is an ended task, not one that runs for
// ever.
func TestACallThatEndsWhileItBecomesATaskIsOver(t *testing.T) {
	store := &slowStore{Store: state.NewMemory(0), storing: make(chan struct{}, 1), store: make(chan struct{})}
	all, err := tasks.New(tasks.Options{Others: &tasks.Tool{Later: true, After: 10 * time.Millisecond}, Store: store, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	goOn := make(chan struct{})
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "slow", func(context.Context, struct{}) (string, error) { <-goOn; return "done", nil })
	returned := make(chan struct{})
	h := all.Middleware()(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		result, err := s.Handle(ctx, req)
		if req.Method == "tools/call" {
			defer close(returned)
		}
		return result, err
	}))
	c := mcp.NewClientWith(h, mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	go func() {
		<-store.storing // its time is over
		close(goOn)     // and it ends at this moment
		<-returned
		time.Sleep(50 * time.Millisecond)
		close(store.store)
	}()
	done, task, err := tasks.Start(t.Context(), c, "slow", nil)
	switch {
	case err != nil:
		t.Fatal(err)
	case task != nil:
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := task.Wait(ctx); err != nil {
			status, _, _ := task.Status(t.Context())
			t.Errorf("the tool returned, and the task is %s for ever: %v", status, err)
		}
	default:
		t.Log(done.Content)
	}
	closed := make(chan struct{})
	go func() { all.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Error("Close waits for ever for a task that is over")
	}
}
