package upstream_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A server handles one message after the other. Alice gives up a slow call. The server reads Bob's
// call after the cancellation and the ping: its request in that call is for Bob.
func TestBobIsAskedInHisOwnCall(t *testing.T) {
	for name, known := range map[string]bool{"it asks for the first time": false, "it is known to name no call": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := ""
				c, closed := attacked(t, func(s *playedServer, m message) {
					tool := string(m.Params)
					switch {
					case m.Method == "ping":
						s.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
					case m.Method == "" && m.Error != nil:
						refused = string(m.Error)
					case m.Method != "tools/call":
					case strings.Contains(tool, "slow"):
						if known {
							s.send(`{"jsonrpc":"2.0","id":"first","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`)
						}
						time.Sleep(15 * time.Second)
						s.send(done, m.ID)
					default:
						s.send(asksUnnamed)
						s.send(done, m.ID)
					}
				})
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				var calling sync.WaitGroup
				calling.Go(func() { c.Handle(ctx, request("alice", "slow", &askedPeer{})) })
				time.Sleep(3 * time.Second)
				bob := &askedPeer{}
				calling.Go(func() { c.Handle(t.Context(), request("bob", "x", bob)) })
				time.Sleep(30 * time.Second)
				if bob.all() == "" {
					t.Errorf("Bob was not asked in his own call: the server was refused with %s", refused)
				}
				calling.Wait()
				closed()
			})
		})
	}
}
