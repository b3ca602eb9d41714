package upstream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// twoCallers maps the ways to distinguish callers to the keys of two callers.
var twoCallers = map[string][2]string{
	"principals": {share.Key("i", "eve", ""), share.Key("i", "ada", "")},
	"addresses":  {share.Key("", "", "192.0.2.1:1"), share.Key("", "", "192.0.2.2:1")},
}

// One caller with many sessions leaves a part of the parked calls, and of their bytes, to others.
func TestParkedCallsAreShared(t *testing.T) {
	for name, keys := range twoCallers {
		for _, size := range []int{1, 4 << 20} {
			synctest.Test(t, func(t *testing.T) {
				c, e, s := quietConn(t, &sentLink{})
				defer c.Close()
				n := 0
				park := func(by string, size int) error {
					n++
					req := &mcp.Request{Method: methodToolsCall, Params: json.RawMessage(`{"arguments":"` + strings.Repeat("x", size) + `"}`), Caller: n, Peer: laterPeer{}, State: new(mcp.State)}
					ended := make(chan error, 1)
					go func() {
						_, err := e.call(share.With(t.Context(), by), s, req)
						ended <- err
					}()
					synctest.Wait()
					k, _ := c.unnamed()
					c.receive(k, &jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(n)), Method: methodElicit})
					return <-ended
				}
				eve := 0
				for range maxParked {
					if park(keys[0], size) != mcp.ErrInputRequired {
						break
					}
					eve++
				}
				if eve == 0 || eve > share.Share(maxParked) {
					t.Errorf("%s: eve has %d calls parked", name, eve)
				}
				if err := park(keys[1], 100<<10); err != mcp.ErrInputRequired {
					t.Errorf("%s: while eve has %d calls of %d bytes parked, ada has none: %v", name, eve, size, err)
				}
			})
		}
	}
}

func TestTasksThatAreWatchedAreShared(t *testing.T) {
	for name, keys := range twoCallers {
		c, e, _ := quietConn(t, &sentLink{})
		eve := 0
		for i := range maxWatched {
			if e.watching(fmt.Sprint("task ", i), keys[0], new(taskWatch)) == nil {
				break
			}
			eve++
		}
		if eve != share.Share(maxWatched) || e.watching("a task of ada", keys[1], new(taskWatch)) == nil {
			t.Errorf("%s: eve has %d tasks watched, and ada none", name, eve)
		}
		c.Close()
	}
}

// Notifications that wait for a blocked client leave room for those of other callers. So do
// repeated cancellations.
func TestWaitingRequestsAreShared(t *testing.T) {
	for name, keys := range twoCallers {
		c, _, _ := quietConn(t, &sentLink{})
		newCall := func(by int) *call {
			k, err := c.newCall(share.With(t.Context(), keys[by]), &mcp.Request{Method: methodToolsCall, Peer: laterPeer{}})
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		notify := func(k *call, size int) (kept bool) {
			before := k.events.count
			k.events.put(event{kind: notification, message: &jsonrpc.Message{Params: make(json.RawMessage, size)}})
			return k.events.count > before
		}
		eve, calls := 0, []*call{}
		for range 2 * maxAllEventBytes / maxEventBytes {
			k := newCall(0)
			calls = append(calls, k)
			for notify(k, 64<<10) {
				eve += 64 << 10
			}
		}
		if eve < maxAllEventBytes*9/10 || eve > maxAllEventBytes {
			t.Errorf("%s: %d bytes wait for eve", name, eve)
		}
		ada := newCall(1)
		for n := range 10 {
			if !notify(ada, 64<<10) {
				t.Errorf("%s: while %d bytes wait for eve, notification %d of ada's is dropped", name, eve, n+1)
				break
			}
		}
		for _, k := range append(calls, ada) {
			k.events.close()
			k.events.forget()
		}
		if used := c.queued.Used(); used != 0 {
			t.Errorf("%s: %d bytes are counted at the end", name, used)
		}
		n := 0
		for c.repeating.Take(keys[0]) {
			n++
		}
		if n >= maxRepeating || !c.repeating.Take(keys[1]) {
			t.Errorf("%s: eve has %d cancellations repeated, and ada none", name, n)
		}
		c.Close()
	}
}
