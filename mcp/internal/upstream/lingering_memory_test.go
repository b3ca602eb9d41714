package upstream

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/junction-mcp/junction/mcp"
)

// Clients gave up calls two hours ago, the server proved that it left them, and no other event
// followed.
func TestClientsOfFinishedCallsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e, s := quietConn(t, &sentLink{})
		type client [1 << 16]byte
		var clients []weak.Pointer[client]
		for range 100 {
			one := new(client)
			clients = append(clients, weak.Make(one))
			ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
			e.begin(ctx, s, &mcp.Request{Method: methodToolsCall, Caller: one, Peer: waitingPeer{}})
			cancel()
		}
		time.Sleep(2 * time.Hour)
		runtime.GC()
		runtime.GC()
		n := 0
		for _, one := range clients {
			if one.Value() != nil {
				n++
			}
		}
		if n > 0 {
			t.Errorf("%d of 100 clients are still held", n)
		}
		c.Close()
	})
}
