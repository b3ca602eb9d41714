package upstream

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

func parsedOf(t *testing.T, format string, args ...any) *jsonrpc.Message {
	t.Helper()
	m, fault := jsonrpc.Parse(fmt.Appendf(nil, format, args...), jsonrpc.Limits{})
	if fault != nil {
		t.Fatal(fault)
	}
	return &m
}

// grown returns the growth of the live heap during f, in MiB.
func grown(f func()) int {
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	f()
	return (heap() - before) >> 20
}

// A server may add any content around the parameters of a message. It is kept with them while the
// message waits.
func TestAllOfAMessageThatWaitsIsCounted(t *testing.T) {
	junk := strings.Repeat("x", 1<<20)
	b := newMailbox()
	for range 64 {
		b.put(event{kind: notification, message: parsedOf(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{},"junk":"%s"}`, junk)})
	}
	if n := len(b.take()); n > maxEventBytes>>20 {
		t.Errorf("%d notifications of 1 MiB wait", n)
	}
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		defer c.Close()
		for i := range 64 {
			e.register(&serverRequest{session: s, message: parsedOf(t, `{"jsonrpc":"2.0","id":%d,"method":"roots/list","junk":"%s"}`, i, junk)})
		}
		if n := len(e.asked); n > maxAskedBytes>>20 {
			t.Errorf("%d requests of 1 MiB wait", n)
		}
		for _, r := range e.asked {
			e.forget(r)
		}
		if e.askedBytes != 0 {
			t.Errorf("%d bytes are left", e.askedBytes)
		}
	})
}

// A client may do the same with a parked call and need not come back.
func TestAParkedCallKeepsNoMoreOfItsMessageThanItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 8
		c, e, _ := quietConn(t, &sentLink{})
		served, err := edge.New(e, edge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := grown(func() {
			for i := range calls {
				replied := make(chan edge.Reply, 1)
				go func() {
					replied <- served.Modern(t.Context(), nil, parsedOf(t, `{"jsonrpc":"2.0","id":%d,"junk":"%s","method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"progressToken":"p"}}}`, i, strings.Repeat("x", 8<<20)), edge.From{})
				}()
				synctest.Wait()
				k, _ := c.unnamed()
				c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodElicit, Params: []byte(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)})
				if reply := <-replied; !strings.Contains(string(reply.Message), "input_required") {
					t.Fatalf("%.300s", reply.Message)
				}
			}
		})
		if len(e.parked) != calls || n > 2*calls {
			t.Errorf("%d calls are parked, with %d MiB", len(e.parked), n)
		}
		c.Close()
	})
}
