package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

func TestTheErrorOfAContextNamesServerAndTool(t *testing.T) {
	s := mcp.NewServer("sloth", "1")
	mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stopped, stop := context.WithCancel(t.Context())
		stop()
		for want, ctx := range map[error]context.Context{context.DeadlineExceeded: late, context.Canceled: stopped} {
			result, err := s.Handle(ctx, mcp.NewRequest("tools/call", json.RawMessage(`{"name":"wait"}`)))
			if !errors.Is(err, want) || !strings.Contains(err.Error(), `server "sloth": tools/call "wait"`) {
				t.Errorf("error %v", err)
			}
			if outcome := mcp.OutcomeOf(ctx, &result, err); want == context.Canceled && outcome != mcp.OutcomeCancelled {
				t.Errorf("outcome %s", outcome)
			}
		}
	})
}
