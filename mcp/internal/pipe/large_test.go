package pipe

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A sender sends a large message and, after Send has returned, a small one, such as the
// cancellation of the large request. Others send as well, and the server reads slowly.
func TestASmallMessageDoesNotOvertakeALargeOneThatWasSentBefore(t *testing.T) {
	wrong := 0
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			l, p := connect(t, Options{})
			other := link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"other","params":{"x":"` + strings.Repeat("x", maxSmall/2) + `"}}`)}
			var sending sync.WaitGroup
			for range maxOut + 2 {
				sending.Go(func() { l.Send(t.Context(), other) })
			}
			synctest.Wait()
			large := []byte(`{"jsonrpc":"2.0","id":1,"method":"large","params":{"x":"` + strings.Repeat("x", 2*maxSmall) + `"}}`)
			sending.Go(func() {
				l.Send(t.Context(), link.Out{Message: large})
				l.Send(t.Context(), link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)})
			})
			first := ""
			for range maxOut + 4 {
				synctest.Wait() // the server is slow
				m, _ := jsonrpc.Parse([]byte(p.line(t)), jsonrpc.Limits{})
				if first == "" && m.Method != "other" {
					first = m.Method
				}
			}
			if first != "large" {
				wrong++
			}
			sending.Wait()
		})
	}
	if wrong > 0 {
		t.Errorf("in %d of 20 attempts the cancellation was written before its request, which had been sent before", wrong)
	}
}

// A large message waits while clients send others, one at a time each, faster than the server
// reads. It must get its turn.
func TestALargeMessageIsNotHeldForeverByOthers(t *testing.T) {
	held := 0
	var others atomic.Int64
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			l, p := connect(t, Options{})
			ctx, cancel := context.WithCancel(t.Context())
			var sending sync.WaitGroup
			for range 2 * maxOut {
				sending.Go(func() {
					for l.Send(ctx, link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"small","params":{"x":"` + strings.Repeat("x", maxSmall/2) + `"}}`)}) == nil {
					}
				})
			}
			sending.Go(func() {
				for ctx.Err() == nil {
					if _, err := p.in.ReadString('\n'); err != nil {
						return
					}
					others.Add(1)
					time.Sleep(10 * time.Millisecond)
				}
			})
			time.Sleep(time.Second)
			within, stop := context.WithTimeout(ctx, 30*time.Second)
			defer stop()
			if err := l.Send(within, link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"large","params":{"x":"` + strings.Repeat("x", 2*maxSmall) + `"}}`)}); err != nil {
				held++
			}
			cancel()
			p.Close()
			l.Close()
			sending.Wait()
		})
	}
	if held > 0 {
		t.Errorf("in %d of 3 attempts a large message did not get through in 30 seconds, while the server took %d others", held, others.Load())
	}
}
