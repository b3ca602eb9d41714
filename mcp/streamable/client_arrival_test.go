package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A slowServer delays its responses.
type slowServer struct {
	takes   time.Duration
	aborted atomic.Bool

	held, bytes atomic.Int64 // requests without a response
}

func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.held.Add(1)
	s.bytes.Add(r.ContentLength)
	defer func() {
		s.held.Add(-1)
		s.bytes.Add(-r.ContentLength)
	}()
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		s.aborted.Store(true)
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &lasting{text: strings.NewReader(": nothing\n\n"), done: r.Context().Done()}, Request: r}, nil
}

// A server that receives a cancellation before the request never ends the request.
func TestARequestThatIsGivenUpArrivesBeforeItsCancellation(t *testing.T) {
	for _, test := range []struct {
		name        string
		arrives     bool
		takes, want time.Duration
		aborted     bool
	}{
		{"soon", true, 100 * time.Millisecond, 100 * time.Millisecond, false},
		{"never", true, time.Hour, arriveTime, true},
		{"with a channel that says it", false, time.Hour, 10 * time.Millisecond, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &slowServer{takes: test.takes}
				l, err := ClientWith("http://slow.example/mcp", ClientOptions{HTTP: &http.Client{Transport: server}}).(link.Linker).Link(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				givenUp := errors.New("given up")
				ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, givenUp)
				defer cancel()
				out := link.Out{ID: "1", Method: "tools/call", Arrives: test.arrives, Message: jsonrpc.AppendRequest(nil, "1", "tools/call", nil)}
				if _, err := l.Call(ctx, out, func(*jsonrpc.Message) {}); !errors.Is(err, givenUp) || errors.Is(err, link.ErrMayArrive) != (test.arrives && test.aborted) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != test.want || server.aborted.Load() != test.aborted {
					t.Errorf("it took %v, aborted %v; want %v, %v", took, server.aborted.Load(), test.want, test.aborted)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A client that calls and cancels repeatedly must not fill the memory with requests that a stalled
// server does not accept.
func TestCancelledRequestsThatDoNotArriveAreLimited(t *testing.T) {
	for _, test := range []struct {
		name              string
		calls, size       int
		mostHeld, atBytes int64
	}{
		{"many", 300, 100, 256, 1 << 20},
		{"large", 12, 1 << 20, 7, 8 << 20}, // each is a little more than 1 MiB
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &slowServer{takes: time.Hour}
				l, err := ClientWith("http://slow.example/mcp", ClientOptions{HTTP: &http.Client{Transport: server}}).(link.Linker).Link(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				params := []byte(`{"x":"` + strings.Repeat("x", test.size) + `"}`)
				var calling sync.WaitGroup
				for i := range test.calls {
					ctx, cancel := context.WithCancel(t.Context())
					id := jsonrpc.IntID(int64(i))
					out := link.Out{ID: id, Method: "tools/call", Arrives: true, Message: jsonrpc.AppendRequest(nil, id, "tools/call", params)}
					calling.Go(func() { l.Call(ctx, out, nil) })
					synctest.Wait()
					cancel()
					synctest.Wait()
				}
				if held, bytes := server.held.Load(), server.bytes.Load(); held != test.mostHeld || bytes > test.atBytes {
					t.Errorf("%d requests of %d bytes are on their way; want %d, of at most %d", held, bytes, test.mostHeld, test.atBytes)
				}
				time.Sleep(arriveTime)
				calling.Wait()
				if n := server.held.Load(); n != 0 {
					t.Errorf("%d requests are left behind", n)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
