package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

type whoForm struct {
	Name string `json:"name"`
}

// A taskServer runs its tools as tasks, and records the id of the last one.
type taskServer struct {
	mcp.Handler
	calls atomic.Int32
	began atomic.Pointer[string]
}

// Handle records the ids.
func (s *taskServer) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "tools/call" {
		s.calls.Add(1)
	}
	result, err := s.Handler.Handle(ctx, req)
	if result.Type == "task" {
		body, _ := result.Encoded()
		var task struct{ TaskID string }
		_ = json.Unmarshal(body, &task)
		s.began.Store(&task.TaskID)
	}
	return result, err
}

func newTaskServer(t *testing.T) *taskServer {
	t.Helper()
	s := mcp.NewServer("long", "1")
	mcp.AddTool(s, "greet", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcp.Elicit[whoForm](ctx, "Who are you?")
		return "hello " + who.Name, err
	})
	mcp.AddTool(s, "plain", func(context.Context, struct{}) (string, error) { return "at once", nil })
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"greet": {Required: true}}, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { long.Close() })
	return &taskServer{Handler: long.Middleware()(s)}
}

// taskFront returns a gateway of one member behind a store of tasks.
func taskFront(t *testing.T, member mcp.Handler, store state.Store, around ...mcp.Middleware) (mcp.Handler, func()) {
	t.Helper()
	g := gateway.New(gateway.Options{})
	if err := g.AddHandler("a", member, around...); err != nil {
		t.Fatal(err)
	}
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	long, err := tasks.New(tasks.Options{Store: store, Others: &tasks.Tool{Later: true}, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return long.Middleware()(g), func() { long.Close(); g.Close() }
}

func as(h mcp.Handler, subject string) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		other := *req
		other.Principal = &mcp.Principal{Subject: subject}
		return h.Handle(ctx, &other)
	})
}

func answering(name string) mcp.ClientOptions {
	return mcp.ClientOptions{OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"` + name + `"}`)}, nil
	}}
}

func TestATaskOfAMemberIsOneOfTheGateway(t *testing.T) {
	member := newTaskServer(t)
	seen := 0 // counts calls whose result the middleware of the member saw
	h, end := taskFront(t, member, state.NewMemory(0), func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			result, err := next.Handle(ctx, req)
			if body, _ := result.Encoded(); req.Method == "tools/call" && err == nil && string(body) == `{"content":[{"type":"text","text":"hello Ada"}]}` {
				seen++
			}
			return result, err
		})
	})
	defer end()

	// A client without support for tasks waits, even for a tool that requires them.
	if got, err := mcp.Call[string](t.Context(), mcp.NewClientWith(h, answering("Ada")), "a__greet", struct{}{}); err != nil || got != "hello Ada" {
		t.Errorf("a client that knows no tasks: %q, %v", got, err)
	}

	knows := answering("Ada")
	knows.Capabilities = tasks.Capabilities()
	ada := mcp.NewClientWith(as(h, "ada"), knows)
	if result, task, err := tasks.Start(t.Context(), ada, "a__plain", nil); err != nil || task != nil || result.Text() != "at once" {
		t.Errorf("a call that is no task: %v, %v, %v", result, task, err)
	}
	_, task, err := tasks.Start(t.Context(), ada, "a__greet", nil)
	if err != nil || task == nil {
		t.Fatalf("a task: %v, %v", task, err)
	}
	if id := *member.began.Load(); task.ID == id {
		t.Error("the client sees the id that the member gave")
	} else if _, _, err := tasks.Resume(ada, id).Status(t.Context()); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
		t.Errorf("the member's own id leads to the member: %v", err)
	}
	if _, _, err := tasks.Resume(mcp.NewClientWith(as(h, "eve"), knows), task.ID).Status(t.Context()); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
		t.Errorf("another user sees it: %v", err)
	}
	task.Ask = func(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil
	}
	if result, err := task.Wait(t.Context()); err != nil || result.Text() != "hello Ada" {
		t.Errorf("the task: %v, %v", result, err)
	}
	if seen != 2 {
		t.Errorf("the member's middleware saw %d results, want 2", seen)
	}

	_, task, err = tasks.Start(t.Context(), ada, "a__greet", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	behind := mcp.NewClientWith(as(member, "ada"), knows)
	for {
		status, _, err := tasks.Resume(behind, *member.began.Load()).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if status == "cancelled" {
			break
		}
		time.Sleep(5 * time.Millisecond) // the member is notified after the response
	}
}

func TestATaskOfAMemberOutlivesTheGateway(t *testing.T) {
	member, store := newTaskServer(t), state.NewMemory(0)
	first, end := taskFront(t, member, store)
	knows := answering("Ada")
	knows.Capabilities = tasks.Capabilities()
	_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(as(first, "ada"), knows), "a__greet", nil)
	if err != nil || task == nil {
		t.Fatal(task, err)
	}
	end()
	second, end := taskFront(t, member, store)
	defer end()
	task = tasks.Resume(mcp.NewClientWith(as(second, "ada"), knows), task.ID)
	task.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Eve"}}`), nil
	}
	if result, err := task.Wait(t.Context()); err != nil || result.Text() != "hello Eve" || member.calls.Load() != 1 {
		t.Errorf("%v, %v; the tool was called %d times", result, err, member.calls.Load())
	}
}
