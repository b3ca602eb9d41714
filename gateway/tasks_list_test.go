package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// A list has the gateway's ids of the user's tasks at all members, and does not wait for members.
func TestAListOfTasksIsOfAllMembersAndWaitsForNone(t *testing.T) {
	one, two := newTaskServer(t), newTaskServer(t)
	stalls := make(chan struct{})
	stalling := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "server/discover" {
			return two.Handle(ctx, req)
		}
		select {
		case <-stalls: // from here on it answers nothing
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		default:
			return two.Handle(ctx, req)
		}
	})
	store := state.NewMemory(0)
	front := func() (mcp.Handler, func()) {
		g := gateway.New(gateway.Options{Logger: quiet})
		must(t, g.AddHandler("one", one))
		must(t, g.AddHandler("two", stalling))
		must(t, g.Settle(t.Context()))
		long, err := tasks.New(tasks.Options{Store: store, Others: &tasks.Tool{Later: true}, Poll: 10 * time.Millisecond})
		must(t, err)
		return long.Middleware()(g), func() { long.Close(); g.Close() }
	}
	h, end := front() // all members respond
	knows := answering("Ada")
	knows.Capabilities = tasks.Capabilities()
	client := func(h mcp.Handler, user string) *mcp.Client { return mcp.NewClientWith(as(h, user), knows) }
	begin := func(user, tool string) string {
		t.Helper()
		_, task, err := tasks.Start(t.Context(), client(h, user), tool, nil)
		if err != nil || task == nil {
			t.Fatalf("%s: %v, %v", tool, task, err)
		}
		return task.ID
	}
	want := []string{begin("ada", "one__greet"), begin("ada", "two__greet")}
	hers := begin("eve", "two__greet")
	slices.Reverse(want)
	if inner := *two.began.Load(); slices.Contains(want, inner) || hers == inner {
		t.Error("a client sees the id that the member gave")
	}
	list := func(h mcp.Handler, user string) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		result, err := client(h, user).Do(ctx, "tasks/list", nil)
		if err != nil {
			t.Fatalf("%s lists: %v", user, err)
		}
		body, _ := result.Encoded()
		var page struct {
			Tasks []struct{ TaskID, Status string }
		}
		must(t, json.Unmarshal(body, &page))
		ids := []string{}
		for _, task := range page.Tasks {
			ids = append(ids, task.TaskID)
			if task.Status != "working" && task.Status != "input_required" {
				t.Errorf("task %s is %s", task.TaskID, task.Status)
			}
		}
		return ids
	}
	close(stalls)
	if got := fmt.Sprint(list(h, "ada")); got != fmt.Sprint(want) {
		t.Errorf("Ada lists %s, want %s", got, want)
	}
	if got := fmt.Sprint(list(h, "eve"), list(h, "bob")); got != fmt.Sprintf("[%s] []", hers) {
		t.Errorf("Eve and Bob list %s, want only %s", got, hers)
	}
	end()
	// A restarted gateway continues with the tasks that it lists, and does not wait for members
	// either. The stalled member's lists cannot be read this time.
	g := gateway.New(gateway.Options{Logger: quiet})
	must(t, g.AddHandler("one", one))
	must(t, g.AddHandler("two", stalling))
	long, err := tasks.New(tasks.Options{Store: store, Others: &tasks.Tool{Later: true}, Poll: 10 * time.Millisecond})
	must(t, err)
	defer func() { long.Close(); g.Close() }()
	if got := fmt.Sprint(list(long.Middleware()(g), "ada")); got != fmt.Sprint(want) {
		t.Errorf("after a restart Ada lists %s, want %s", got, want)
	}
}
