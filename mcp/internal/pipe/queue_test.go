package pipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

func notification(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d"}`+"\n", i) }
func asked(i int) string        { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"r%d"}`+"\n", i, i) }

func TestTheQueue(t *testing.T) {
	inBubble(t, "keeps messages in order until somebody receives", func(t *testing.T) {
		l, p := connect(t, Options{})
		for i := range 10 {
			p.say(t, notification(i))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		next := 0
		err := l.Receive(ctx, func() {}, func(m *jsonrpc.Message) {
			if want := fmt.Sprintf("n%d", next); m.Method != want {
				t.Errorf("got %s, want %s", m.Method, want)
			}
			if next++; next == 10 {
				cancel(enough)
			}
		})
		if err != enough {
			t.Errorf("Receive ends with %v", err)
		}
	})
	inBubble(t, "drops the oldest notifications when it is full, and no request", func(t *testing.T) {
		l, p := connect(t, Options{})
		p.say(t, asked(0))
		for i := range maxQueued + 10 {
			p.say(t, notification(i))
		}
		p.say(t, asked(1))
		p.Close()
		<-l.Done()
		var got []string
		l.Receive(t.Context(), func() {}, func(m *jsonrpc.Message) { got = append(got, m.Method) })
		if len(got) != maxQueued || got[0] != "r0" || got[1] != "n12" || got[maxQueued-1] != "r1" {
			t.Errorf("%d messages, %v … %v", len(got), got[:2], got[len(got)-1])
		}
	})
	inBubble(t, "is bounded in bytes", func(t *testing.T) {
		b := NewInbox("test-server", slog.New(slog.DiscardHandler))
		for i := range 6 {
			b.put(&jsonrpc.Message{Kind: jsonrpc.Notification, Method: fmt.Sprintf("n%d", i)}, maxQueuedBytes/4)
		}
		b.put(&jsonrpc.Message{Kind: jsonrpc.Notification, Method: "huge"}, maxQueuedBytes)
		b.put(&jsonrpc.Message{Kind: jsonrpc.Notification, Method: "last"}, 0)
		b.Closed()
		var got []string
		b.Receive(t.Context(), func() {}, func(m *jsonrpc.Message) { got = append(got, m.Method) })
		if strings.Join(got, " ") != "huge last" {
			t.Errorf("got %v", got)
		}
	})
	inBubble(t, "makes requests wait, and the link done when nobody takes them", func(t *testing.T) {
		l, p := connect(t, Options{})
		for i := range maxQueued {
			p.say(t, asked(i))
		}
		began := time.Now()
		p.say(t, asked(maxQueued))
		<-l.Done()
		if took := time.Since(began); took != stallTime {
			t.Errorf("done after %v", took)
		}
		if err, want := l.Err(), "test-server: the queue of its messages stayed full for 10s"; err.Error() != want {
			t.Errorf("Err is %v, want %s", err, want)
		}
	})
	inBubble(t, "takes a request that waited", func(t *testing.T) {
		l, p := connect(t, Options{})
		for i := range maxQueued + 1 {
			p.say(t, asked(i))
		}
		time.Sleep(stallTime / 2)
		ctx, cancel := context.WithCancel(t.Context())
		got := 0
		l.Receive(ctx, func() {}, func(*jsonrpc.Message) {
			if got++; got == maxQueued+1 {
				cancel()
			}
		})
		if got != maxQueued+1 || l.Err() != nil {
			t.Errorf("%d messages, %v", got, l.Err())
		}
	})
}

// A response could overtake an earlier message, such as the progress of its call, that came before
// Receive began.
func TestNoResponseOvertakesAMessageOnceReceiveHasBegun(t *testing.T) {
	b := NewInbox("test-server", slog.New(slog.DiscardHandler))
	c, err := b.Expect(request(5, "tools/call"))
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	receiving := make(chan error, 1)
	var notified atomic.Int32
	go func() {
		receiving <- b.Receive(t.Context(), func() {
			b.Take([]byte(notification(1)))
			b.Take([]byte(`{"jsonrpc":"2.0","id":5,"result":{}}`))
			select {
			case a := <-c.done:
				t.Errorf("the response %s came first", a.message.Result)
			default:
			}
			close(begun)
		}, func(*jsonrpc.Message) { notified.Add(1) })
	}()
	<-begun
	if _, err := c.Wait(t.Context()); err != nil || notified.Load() != 1 {
		t.Errorf("%d notifications before the response, %v", notified.Load(), err)
	}
	b.Closed()
	<-receiving
}

func FuzzInbox(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"5","result":null,"error":null}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}},{"id":5}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":5,"method":null,"params":null,"result":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := NewInbox("test-server", slog.New(slog.DiscardHandler))
		c, err := b.Expect(request(5, "tools/call"))
		if err != nil {
			t.Fatal(err)
		}
		b.Take(data)
		b.Take([]byte(`{"jsonrpc":"2.0","id":5,"result":{"last":true}}`))
		m, err := c.Wait(t.Context())
		if err == nil && (m.Kind != jsonrpc.Response || m.ID != "5") {
			t.Errorf("the call got %+v", m)
		}
		b.Closed()
		b.Receive(t.Context(), func() {}, func(m *jsonrpc.Message) {
			if m.Kind == jsonrpc.Response || m.Method == "" && !strings.Contains(string(data), "method") {
				t.Errorf("Receive got %+v", m)
			}
		})
	})
}

// A waiting message of a batch keeps no memory of the others.
func TestAMessageOfABatchIsKeptAlone(t *testing.T) {
	b := NewInbox("server", slog.New(slog.DiscardHandler))
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 16 {
		b.Take([]byte(`[{"jsonrpc":"2.0","method":"notifications/message","params":{}},{"jsonrpc":"2.0","id":1,"result":{"junk":"` + strings.Repeat("x", 4<<20) + `"}}]`))
	}
	if n := int(heap()) - int(before); n > 16<<20 {
		t.Errorf("%d MiB are kept of 16 small notifications", n>>20)
	}
	runtime.KeepAlive(b)
}
