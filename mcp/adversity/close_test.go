package adversity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// waitsForItsEnd answers no call, and notes how each is given up.
func waitsForItsEnd(s *server) {
	s.tool = func(c *call) {
		c.record("begun")
		<-c.ctx.Done()
	}
	s.gaveUp = func(string) { s.record("cancelled") }
}

// The program that owns a client closes it while other goroutines still have calls: the server learns that
// nobody wants them, and whoever called learns why, at once.
func TestTheClientIsClosedWhileCallsRun(t *testing.T) {
	t.Parallel()
	for _, cell := range cells {
		for _, settled := range []bool{true, false} {
			name := cell.transport + " " + cell.revision
			if !settled {
				name += ", as soon as the server has them"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if cell.transport != memory {
					closesWhileCallsRun(t, cell, settled)
					return
				}
				synctest.Test(t, func(t *testing.T) { closesWhileCallsRun(t, cell, settled) })
			})
		}
	}
}

func closesWhileCallsRun(t *testing.T, cell cell, settled bool) {
	const calls = 8
	p := cell.open(t, "waits for its end")
	defer p.close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*callTime)
	defer cancel()
	c, err := p.dial(ctx, mcp.ClientOptions{Bridge: true, Revision: cell.revision})
	if err != nil {
		t.Fatal(err)
	}
	var closed time.Time
	var calling sync.WaitGroup
	failed := make(chan error, calls)
	for n := range calls {
		calling.Go(func() {
			req := mcp.NewRequest("tools/call", json.RawMessage(fmt.Sprintf(`{"name":"plain","arguments":{"client":%d,"call":1}}`, n)))
			req.Caller = n
			_, err := c.Handle(t.Context(), req)
			failed <- err
		})
	}
	eventually(t, "the server has all calls", func() bool { return count(t, p.dir, "begun") == calls })
	if settled { // on HTTP a request may count as not arrived yet before this
		time.Sleep(slow * 600 * time.Millisecond)
	}
	closed = time.Now()
	c.Close()
	took := time.Since(closed)
	calling.Wait()
	returned := time.Since(closed)
	for range calls {
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("a call: %v; want that the client was closed", err)
		}
	}
	if most := time.Second + margin; took > most || returned > most {
		t.Errorf("closing took %v, and the calls ended after %v", took, returned)
	}
	want := calls
	if cell.transport == web && cell.revision == modern {
		want = 0 // the end of the stream says it
	}
	eventually(t, "the server learned of the end of each call", func() bool {
		return count(t, p.dir, "cancelled") == want && (p.server == nil || p.server.open.Load() == 0)
	})
	if t.Failed() {
		t.Logf("%d cancellations", count(t, p.dir, "cancelled"))
	}
}
