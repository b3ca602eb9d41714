package ratelimit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

func TestRestOfTheRequestsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := Middleware(Options{Calls: 1, In: time.Minute, Rest: 5, Concurrent: 1, Key: Caller})(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" {
				<-release
			}
			return mcp.Result{}, nil
		}))
		go func() { _ = call(t.Context(), h, "eve") }()
		synctest.Wait()
		ask := func(method string, caller any) error {
			req := mcp.NewRequest(method, nil)
			req.Caller = caller
			_, err := h.Handle(t.Context(), req)
			return err
		}
		for _, method := range []string{"tasks/get", "tasks/update", "server/discover", "tools/list", "tasks/list"} { // while a call has the only turn
			if err := ask(method, "eve"); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		err := ask("tasks/get", "eve")
		if !errors.Is(err, &mcp.Error{Code: mcp.CodeInternalError}) || !strings.Contains(err.Error(), "too many requests: 5 in a minute") {
			t.Errorf("one more: %v", err)
		}
		if err := ask("tasks/get", "ada"); err != nil {
			t.Errorf("another caller: %v", err)
		}
		time.Sleep(time.Minute)
		if err := ask("tasks/get", "eve"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		close(release)
	})
}
