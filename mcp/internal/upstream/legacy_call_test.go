package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// bridgeTo puts a bridge before a legacy server and counts the rounds of its calls.
func bridgeTo(t *testing.T, s *mcp.Server, o mcp.ClientOptions) (h mcp.Handler, rounds *atomic.Int32, closed func()) {
	t.Helper()
	o.Bridge, o.Revision = true, "2025-11-25"
	bridge, err := mcp.DialWith(t.Context(), stream.Pipe(s), o)
	if err != nil {
		t.Fatal(err)
	}
	rounds = new(atomic.Int32)
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			rounds.Add(1)
		}
		return bridge.Handle(ctx, req)
	}), rounds, func() { bridge.Close() }
}

func accept(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
}

// Two requests in short succession form one round, and the responses to both the next. No round is
// empty, however long the server takes afterwards.
func TestNoRoundOfAParkedCallAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("slow", "1")
		mcp.AddTool(s, "ask", func(ctx context.Context, _ none) (string, error) {
			var asking sync.WaitGroup
			for i, text := range []string{"first?", "second?"} {
				asking.Go(func() {
					time.Sleep(time.Duration(i) * 5 * time.Millisecond)
					_, _ = mcp.Elicit[nameForm](ctx, text)
				})
			}
			asking.Wait()
			time.Sleep(time.Second)
			return "asked", nil
		})
		h, rounds, closed := bridgeTo(t, s, mcp.ClientOptions{})
		defer closed()
		c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: "2026-07-28", OnElicit: accept})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if text, err := mcp.Call[string](t.Context(), c, "ask", nil); err != nil || text != "asked" {
			t.Errorf("%q, %v", text, err)
		}
		if n := rounds.Load(); n != 2 {
			t.Errorf("%d rounds, want 2", n)
		}
	})
}

// A client that never comes back with its response holds a call for ParkTimeout. Then the server
// gets a cancellation, and nothing of the call remains.
func TestAParkedCallIsGivenUpAfterParkTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan time.Time, 1)
		s := mcp.NewServer("waiting", "1")
		mcp.AddTool(s, "ask", func(ctx context.Context, _ none) (string, error) {
			_, err := mcp.Elicit[nameForm](ctx, "who?")
			if ctx.Err() != nil {
				cancelled <- time.Now()
			}
			return "", err
		})
		h, _, closed := bridgeTo(t, s, mcp.ClientOptions{ParkTimeout: 3 * time.Minute})
		defer closed()
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- stream.ServeConn(t.Context(), far, h) }()
		began := time.Now()
		_, _ = io.WriteString(near, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`+"\n")
		answer, err := bufio.NewReader(near).ReadString('\n')
		if err != nil || !strings.Contains(answer, `"input_required"`) {
			t.Errorf("answered %s, %v", answer, err)
		}
		near.Close()
		<-ended
		if waited := (<-cancelled).Sub(began); waited < 3*time.Minute || waited > 3*time.Minute+time.Second {
			t.Errorf("the server heard after %v", waited)
		}
	})
}

type none struct{}

type nameForm struct {
	Name string `json:"name"`
}
