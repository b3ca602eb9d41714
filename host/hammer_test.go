package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// Everything that a screen, a program and servers can do at the same time ends, and is no race.
func TestEverythingAtTheSameTimeEnds(t *testing.T) {
	s := mcp.NewServer("files", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "read", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "text of a stranger", nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "write", Annotations: writes}, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Elicit[struct{ Name string }](ctx, "Who?")
		return "", err
	})
	turn := 0
	var mu sync.Mutex
	m := scripted.Always(func(_ context.Context, req *model.Request) (*model.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if turn++; turn%3 == 0 {
			return scripted.Reply(model.Part{Text: "done"})(context.Background(), req)
		}
		return scripted.Reply(scripted.Calling("files__read", ""), scripted.Calling("files__write", ""), scripted.Calling("files__extra", ""))(context.Background(), req)
	})
	st := play(t, Options{Model: m, Servers: []Server{{Name: "files", Handler: s}}, Limits: Limits{Steps: 6}})
	limit, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var running sync.WaitGroup
	again := func(n int, f func(i int)) {
		running.Go(func() {
			for i := range n {
				f(i)
			}
		})
	}
	conversations := []*Conversation{st.Conversation(nil), st.Conversation(nil)}
	for _, c := range conversations {
		again(30, func(i int) {
			ctx, stop := context.WithTimeout(limit, time.Duration(1+i%5)*3*time.Millisecond)
			defer stop()
			_, err := c.Ask(ctx, Question{Text: fmt.Sprint("question ", i)})
			if err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		})
		again(30, func(int) { _, _ = c.Ask(limit, Question{Text: "at the same time"}) })
		again(60, func(i int) {
			_ = c.SetOff("files", i%2 == 0)
			_ = c.Trust("files", false)
			_ = c.Distrust("files")
			for _, a := range c.Approvals() {
				_ = c.Withdraw(a)
			}
			_, _, _, _ = c.Entries(), c.WindowUse(), c.Servers(), c.Tools()
			_ = c.ReviewAgain("files")
			_, _ = c.ChangePlan(func(p Plan) (Plan, error) { p.Goal = fmt.Sprint(i); return p, nil })
		})
	}
	again(60, func(i int) {
		name := fmt.Sprint("extra", i%2)
		s.RemoveTool(name)
		mcp.AddToolWith(s, mcp.Tool{Name: name, Description: fmt.Sprint("version ", i)}, func(context.Context, struct{}) (string, error) { return "", nil })
	})
	again(60, func(i int) {
		rule := policy.Rule{Effect: policy.Allow, Server: "files", Tool: fmt.Sprint("tool", i%4)}
		_ = st.Rule(rule, false)
		_ = st.RemoveRule(rule)
		_ = st.Disapprove("files")
		_, _ = st.Host.Tools(), st.Rules()
	})
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(90 * time.Second):
		t.Fatal("something does not end")
	}
	running.Go(func() { _, _ = conversations[0].Ask(limit, Question{Text: "while it closes"}) })
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	running.Wait()
}
