package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// Clients of a gateway that keeps no tasks wait for results, even if they declare support, as they
// could not ask about a task later.
func TestAGatewayThatKeepsNoTasksHandsOutNone(t *testing.T) {
	member := newTaskServer(t)
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("a", member))
	must(t, g.AddHandler("b", mcp.NewServer("b", "1")))
	must(t, g.Settle(t.Context()))
	knows := answering("Ada")
	knows.Capabilities = tasks.Capabilities()
	c := mcp.NewClientWith(g, knows)
	result, task, err := tasks.Start(t.Context(), c, "a__greet", nil)
	if err != nil || task != nil || result.Text() != "hello Ada" {
		t.Errorf("got %+v and the task %+v, %v", result, task, err)
	}
	if id := *member.began.Load(); id != "" {
		_, _, err := tasks.Resume(c, id).Status(t.Context())
		if !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			t.Errorf("a task of a member, by its own id: %v", err)
		}
	}
}

// A client of one server of a gateway gets the tasks of that server.
func TestAClientOfOneServerGetsItsTasks(t *testing.T) {
	member := newTaskServer(t)
	front := func() (*mcp.Client, func() error) {
		g := gateway.New(gateway.Options{Logger: quiet})
		must(t, g.AddHandler("a", member))
		must(t, g.AddHandler("b", newTaskServer(t)))
		must(t, g.Settle(t.Context()))
		knows := answering("Ada")
		knows.Capabilities = tasks.Capabilities()
		return mcp.NewClientWith(g.Server("a"), knows), g.Close
	}
	c, end := front()
	_, task, err := tasks.Start(t.Context(), c, "greet", nil)
	if err != nil || task == nil || task.ID != *member.began.Load() {
		t.Fatalf("got %+v, %v", task, err)
	}
	end() // another process continues
	c, end = front()
	defer end()
	task = tasks.Resume(c, task.ID)
	task.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Eve"}}`), nil
	}
	if result, err := task.Wait(t.Context()); err != nil || result.Text() != "hello Eve" {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
}
