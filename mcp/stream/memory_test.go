package stream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A Handler that does not end the handshake of a legacy client gets the end of the client by its
// context.
func TestClosingAPipeEndsTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Meta.Revision >= "2026" {
				return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "not here")
			}
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := mcp.Dial(ctx, stream.Pipe(h))
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("connected")
			}
		case <-time.After(time.Minute):
			t.Fatal("Dial goes on a minute after its context ended")
		}
	})
}
