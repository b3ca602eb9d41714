package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// Only a tasks/get of a task that has not ended has no line.
func TestEndOfTaskHasLine(t *testing.T) {
	answers := map[string]func() (mcp.Result, error){
		"works":     func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"working"}`)}, nil },
		"asks":      func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"input_required"}`)}, nil },
		"done":      func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"completed","result":{}}`)}, nil },
		"empty":     func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"completed"}`)}, nil },
		"cancelled": func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"cancelled"}`)}, nil },
		"failed": func() (mcp.Result, error) {
			return mcp.Result{JSON: []byte(`{"status":"failed","error":{"code":-32603,"message":"the disk is full"}}`)}, nil
		},
		"other":   func() (mcp.Result, error) { return mcp.Result{JSON: []byte(`{"status":"paused"}`)}, nil },
		"unread":  func() (mcp.Result, error) { return mcp.Result{Value: func() {}}, nil },
		"unknown": func() (mcp.Result, error) { return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "no such task") },
		"left":    func() (mcp.Result, error) { return mcp.Result{}, context.Canceled },
	}
	want := map[string]string{
		"done": "ok 0 ", "empty": "ok 0 ", "cancelled": "cancelled 0 ", "failed": "error -32603 the disk is full", "other": "ok 0 ",
		"unread": "ok 0 the result cannot be encoded", "unknown": "error -32602 no such task (code -32602)", "left": "cancelled 0 ",
	}
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	h := log.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) { return answers[req.Name]() }))
	for name := range answers {
		ctx, cancel := context.WithCancel(t.Context())
		if name == "left" {
			cancel()
		}
		_, _ = h.Handle(ctx, mcp.NewRequest("tasks/get", []byte(fmt.Sprintf(`{"taskId":%q}`, name))))
		cancel()
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line, err := range audit.Read(dir, audit.Filter{Kind: audit.KindCall}) {
		var l struct {
			Name, Outcome, Reason string
			Code                  int
		}
		if err := errors.Join(err, json.Unmarshal(line, &l)); err != nil {
			t.Fatal(err)
		}
		got[l.Name] = fmt.Sprint(l.Outcome, " ", l.Code, " ", l.Reason)
	}
	for name := range answers {
		if (got[name] == "") != (want[name] == "") || !strings.HasPrefix(got[name], want[name]) {
			t.Errorf("%s: got %q, want %q", name, got[name], want[name])
		}
	}
}

// Decisions of several goroutines about one call are counted once, or have lines like the call.
func TestRefusalIsFoldedOnce(t *testing.T) {
	const calls, decisions = 3_000, 4
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	h := log.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range decisions {
			all.Go(func() {
				<-begin
				decide(ctx, note.Decision{Effect: audit.Denied, Rule: "a rule", Reason: "no", Refused: true})
			})
		}
		close(begin)
		all.Wait()
		return mcp.Result{}, errors.New("denied")
	}))
	for range calls {
		_ = call(h, "add", "{}")
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	counted, own := 0, map[string][]string{}
	for line, err := range audit.Read(dir, audit.Filter{Principal: "ada"}) {
		var l struct {
			Kind, Call string
			Refused    int
		}
		if err := errors.Join(err, json.Unmarshal(line, &l)); err != nil {
			t.Fatal(err)
		}
		if counted += l.Refused; l.Refused == 0 {
			own[l.Call] = append(own[l.Call], l.Kind)
		}
	}
	for id, kinds := range own {
		if len(kinds) != decisions+1 || !slices.Contains(kinds, audit.KindCall) {
			t.Errorf("call %s has the lines %q", id, kinds)
		}
	}
	if counted+len(own) != calls {
		t.Errorf("%d calls are counted and %d have lines of their own, want %d together", counted, len(own), calls)
	}
}

// The line of a call that became a task has the task's id, which links it with requests about the
// task, and with the line of a replica that continued the task.
func TestLineOfACallNamesItsTask(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}, Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "dig", func(context.Context, struct{}) (string, error) { return "gold", nil })
	mcp.AddTool(s, "look", func(context.Context, struct{}) (string, error) { return "a hole", nil })
	calls, requests := long.Split("")
	c := mcp.NewClientWith(calls(log.Calls(audit.CallOptions{})(requests(s))), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	_, task, err := tasks.Start(t.Context(), c, "dig", nil)
	if err != nil || task == nil {
		t.Fatal(task, err)
	}
	if _, err := task.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.CallTool(t.Context(), "look", struct{}{}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(long.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line, err := range audit.Read(dir, audit.Filter{Kind: audit.KindCall}) {
		var l struct{ Name, Task string }
		if err := errors.Join(err, json.Unmarshal(line, &l)); err != nil {
			t.Fatal(err)
		}
		got[l.Name] = l.Task
	}
	if want := map[string]string{"dig": task.ID, "look": "", task.ID: ""}; !maps.Equal(got, want) {
		t.Errorf("tasks by name: %v, want %v", got, want)
	}
}
