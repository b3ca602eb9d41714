package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A server whose tools change whenever they are read is not read all the time.
func TestAServerThatAlwaysChangesIsNotReadAllTheTime(t *testing.T) {
	const enough = 300
	synctest.Test(t, func(t *testing.T) {
		srv := mcp.NewServer("s", "1")
		mcp.AddToolWith(srv, mcp.Tool{Name: "t", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "", nil })
		var lists atomic.Int32
		handler := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/list" {
				n := lists.Add(1)
				if n >= enough {
					<-ctx.Done() // so that this test ends
					return mcp.Result{}, ctx.Err()
				}
				mcp.AddToolWith(srv, mcp.Tool{Name: fmt.Sprint("t", n), Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "", nil })
			}
			return srv.Handle(ctx, req)
		})
		s := play(t, Options{Servers: []Server{{Name: "s", Handler: handler, Trusted: true}}}, scripted.Say("done"))
		time.Sleep(10 * time.Second)
		if n := lists.Load(); n < 2 || n > 50 {
			t.Errorf("its tools were read %d times in ten seconds", n)
		}
		s.Close()
	})
}
