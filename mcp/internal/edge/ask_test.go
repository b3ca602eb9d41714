package edge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A fullSender accepts one message only, like the connection of a client that reads nothing.
type fullSender struct{ sent int }

func (s *fullSender) Send(ctx context.Context, _ []byte) error {
	if s.sent++; s.sent == 1 {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// A request to a client that neither reads nor responds must end. The notification that cancels it
// may not fit in the connection either.
func TestAClientThatReadsNothingIsNotAskedForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(mcp.HandlerFunc(waiting), Options{AskTime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}}}`), From{})
		c := &sessionCall{session: s, outlet: outlet{out: new(fullSender), line: s.line()}}
		c.req.Meta = s.meta
		asked := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := c.Ask(t.Context(), mcp.ServerRequest{Method: "roots/list"})
			asked <- err
		}()
		select {
		case err := <-asked:
			if took := time.Since(began); took > 2*time.Minute || err == nil {
				t.Errorf("after %v: %v", took, err)
			}
		case <-time.After(time.Hour):
			t.Error("it waits for an hour")
		}
	})
}
