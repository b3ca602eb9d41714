package pipe

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Alice gives up a call. The server responds all the same, with a message over the limit. It is not
// the response to Bob's call, which happens to be the only one waiting and gets its own later.
func TestTooLongResponsesOfCancelledCallsAreDropped(t *testing.T) {
	for name, line := range map[string]string{
		"too long":      `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 128<<10) + `"}}`,
		"without an id": `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Alice's account is empty"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := connect(t, Options{MaxMessage: 64 << 10})
				go func() {
					p.in.ReadString('\n')
					p.in.ReadString('\n')
					p.Write([]byte(line + "\n"))
					p.Write([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}` + "\n"))
				}()
				alice, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				l.Call(alice, link.Out{ID: "1", Method: "tools/call", Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)}, nil)
				if m, err := l.Call(t.Context(), link.Out{ID: "2", Method: "tools/call", Message: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)}, nil); err != nil || m.Error != nil {
					t.Errorf("Bob's call got what the server said to Alice's: %v, %v", m, err)
				}
			})
		})
	}
}
