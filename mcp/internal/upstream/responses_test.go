package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// An imagePeer responds with 12 MiB, less than the limit of one message.
type imagePeer struct{ noPeer }

func (imagePeer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return json.RawMessage(`{"x":"` + strings.Repeat("x", 12<<20) + `"}`), nil
}

// A secondLink needs a second for each message and sends messages concurrently, like HTTP.
type secondLink struct{ calledLink }

func (l *secondLink) Send(ctx context.Context, out link.Out) error {
	if idle.Wait(ctx, time.Second) != nil {
		return ctx.Err()
	}
	return l.calledLink.Send(ctx, out)
}

// A server asks three requests at once and accepts the responses as fast as they come. It waits for
// each without limit, so each must come, or an error in its place.
func TestNoResponseToAServerThatReadsIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &secondLink{}
		c, e, s := quietConn(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		calling.Go(func() {
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: "alice", Peer: imagePeer{}})
		})
		synctest.Wait()
		for i := range 3 {
			c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodSample})
		}
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "3", Method: methodPing})
		time.Sleep(100 * time.Millisecond)
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "4", Method: methodPing})
		time.Sleep(time.Minute)
		if n := strings.Count(l.all(), `{"jsonrpc":"2.0","id":`); n != 5 || len(e.asked) != 0 {
			t.Errorf("of 5 requests the server got responses to %d, and %d are still on the table", n, len(e.asked))
		}
		cancel()
		calling.Wait()
		c.Close()
	})
}
