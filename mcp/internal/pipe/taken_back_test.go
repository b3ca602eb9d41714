package pipe

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/junction-mcp/junction/mcp/internal/link"
)

// Large messages were withdrawn while the server did not read. Nothing waits, and small ones must
// find room.
func TestMessagesThatWereTakenBackTakeNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := connect(t, Options{})
		if err := l.Send(t.Context(), link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"first"}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the writer waits for the server
		large := []byte(`{"jsonrpc":"2.0","id":1,"method":"large","params":{"x":"` + strings.Repeat("x", 2*maxSmall) + `"}}`)
		ctx, giveUp := context.WithTimeout(t.Context(), time.Second)
		defer giveUp()
		var sending sync.WaitGroup
		for range maxOut {
			sending.Go(func() {
				if l.Send(ctx, link.Out{Message: large}) == nil {
					t.Error("it was not taken back")
				}
			})
		}
		sending.Wait()
		within, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if err := l.Send(within, link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)}); err != nil {
			t.Errorf("a cancellation was lost, while nothing waits but it: %v", err)
		}
		p.Close()
	})
}

// A halfOpen server has closed its output and does not read its input.
type halfOpen struct {
	ended  chan struct{}
	closed chan struct{}
}

func (h *halfOpen) Read([]byte) (int, error) { <-h.ended; return 0, io.EOF }
func (h *halfOpen) Write([]byte) (int, error) {
	<-h.closed
	return 0, io.ErrClosedPipe
}
func (h *halfOpen) Close() error { close(h.closed); return nil }

// The sender of a large message returns because the server has ended. The message must be freed.
func TestALargeMessageIsNotHeldByALinkThatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &halfOpen{make(chan struct{}), make(chan struct{})}
		l := New(h, Options{Name: "half"})
		if err := l.Send(t.Context(), link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"first"}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		held := make(chan weak.Pointer[byte], maxOut)
		var sending sync.WaitGroup
		for range maxOut {
			sending.Go(func() {
				large := make([]byte, 1<<20)
				held <- weak.Make(&large[0])
				l.Send(t.Context(), link.Out{Message: large})
			})
		}
		synctest.Wait()
		close(h.ended)
		sending.Wait()
		l.Close()
		runtime.GC()
		runtime.GC()
		n := 0
		for range maxOut {
			if (<-held).Value() != nil {
				n++
			}
		}
		if n > 0 {
			t.Errorf("a link that is closed holds %d MiB of messages whose senders returned", n)
		}
		runtime.KeepAlive(l)
	})
}
