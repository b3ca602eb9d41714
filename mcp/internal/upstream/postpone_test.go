package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// notHere finds out after a while that its client cannot be asked on its stream.
type notHere struct {
	noPeer
	after time.Duration
}

func (p notHere) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	_ = idle.Wait(ctx, p.after)
	return nil, mcp.ErrInputRequired
}

// A request from before any call waits while a call runs that was held for the maximum time, and is
// given to it. The call ends: the request does not belong to it.
func TestEarlierRequestsOutliveACall(t *testing.T) {
	for name, cancels := range map[string]bool{"it is given up": true, "it gets its response": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &calledLink{}
				c, e, s := oneClientConn(t, l)
				e.join(&listener{peer: notHere{after: 5 * time.Second}, events: newMailbox()})
				c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodElicit})
				time.Sleep(time.Second)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: waitingPeer{}})
				}()
				synctest.Wait()
				k, _ := c.unnamed()
				time.Sleep(5 * time.Second)
				if l.called() == "" {
					t.Fatal("the call was not sent")
				}
				if cancels {
					cancel()
				} else {
					l.end(k.id) <- fmt.Errorf("over")
				}
				<-ended
				time.Sleep(time.Second)
				e.mu.Lock()
				waiting := len(e.waiting)
				e.mu.Unlock()
				if waiting != 1 {
					t.Errorf("the request does not wait for the next call; the server was sent %q", l.all())
				}
				cancel()
				c.Close()
			})
		})
	}
}
