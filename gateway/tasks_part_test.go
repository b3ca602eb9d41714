package gateway_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// A task of one profile continues in that profile after a restart, even if a client of another
// endpoint asks about it first.
func TestTasksOfAnotherPartCannotBeEnded(t *testing.T) {
	member, store := newTaskServer(t), state.NewMemory(0)
	front := func() (all *tasks.Tasks, mine, other mcp.Handler, end func()) {
		g := gateway.New(gateway.Options{Logger: quiet})
		must(t, g.AddHandler("a", member))
		must(t, g.AddHandler("b", mcp.NewServer("b", "1")))
		must(t, g.Settle(t.Context()))
		all, err := tasks.New(tasks.Options{Store: store, Others: &tasks.Tool{Later: true}, Poll: 10 * time.Millisecond})
		must(t, err)
		return all, all.Part("a")(g.Only(gateway.Selection{Servers: []string{"a"}})), all.Part("b")(g.Only(gateway.Selection{Servers: []string{"b"}})), func() { all.Close(); g.Close() }
	}
	knows := answering("Ada")
	knows.Capabilities = tasks.Capabilities()
	_, mine, _, end := front()
	_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(as(mine, "ada"), knows), "a__greet", nil)
	if err != nil || task == nil {
		t.Fatalf("%v, %v", task, err)
	}
	end() // restarts the gateway
	_, mine, other, end := front()
	defer end()
	_, _, err = tasks.Resume(mcp.NewClientWith(as(other, "ada"), knows), task.ID).Status(t.Context())
	if err == nil {
		t.Error("the task is known through another part")
	}
	time.Sleep(100 * time.Millisecond)
	task = tasks.Resume(mcp.NewClientWith(as(mine, "ada"), knows), task.ID)
	task.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil
	}
	if result, err := task.Wait(t.Context()); err != nil || result.Text() != "hello Ada" {
		t.Errorf("the task of the part with the server: %v, %v", result, err)
	}
}
