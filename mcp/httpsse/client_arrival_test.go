package httpsse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A slowServer takes its time before it accepts a message.
type slowServer struct {
	takes   time.Duration
	aborted bool
}

func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		body, server := io.Pipe()
		go io.WriteString(server, "event: endpoint\ndata: /messages\n\n")
		context.AfterFunc(r.Context(), func() { server.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	}
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		s.aborted = true
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// A server that hears of a cancellation before the request never ends that.
func TestARequestThatIsGivenUpArrivesBeforeItsCancellation(t *testing.T) {
	for _, test := range []struct {
		name        string
		arrives     bool
		takes, want time.Duration
		aborted     bool
	}{
		{"soon", true, 100 * time.Millisecond, 100 * time.Millisecond, false},
		{"never", true, time.Hour, 5*time.Second + 10*time.Millisecond, true},
		{"without a cancellation", false, time.Hour, 10 * time.Millisecond, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &slowServer{takes: test.takes}
				l, err := ClientWith("http://slow.example/sse", ClientOptions{HTTP: &http.Client{Transport: server}}).(link.Linker).Link(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				givenUp := errors.New("given up")
				ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, givenUp)
				defer cancel()
				out := link.Out{ID: "1", Method: "tools/call", Arrives: test.arrives, Message: jsonrpc.AppendRequest(nil, "1", "tools/call", nil)}
				if _, err := l.Call(ctx, out, nil); !errors.Is(err, givenUp) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != test.want || server.aborted != test.aborted {
					t.Errorf("it took %v, aborted %v; want %v, %v", took, server.aborted, test.want, test.aborted)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
