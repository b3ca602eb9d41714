package streamable

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A starvedServer is a legacy server that reads a tool call some time after it was sent, even if
// its connection was closed. It reads everything else at once. It responds to a call when the call
// is over, which is at its cancellation.
type starvedServer struct {
	after time.Duration

	mu        sync.Mutex
	running   map[string]chan struct{}
	cancelled int
	left      sync.WaitGroup
}

func (s *starvedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			RequestID json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, err
	}
	status, result := http.StatusOK, `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"starved","version":"1"}}`
	case "tools/call":
		over := make(chan struct{})
		s.left.Go(func() { s.run(string(m.ID), over) })
		select {
		case <-over:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	case "notifications/cancelled":
		s.cancel(string(m.Params.RequestID))
	}
	if len(m.ID) == 0 {
		status, result = http.StatusAccepted, ""
	} else {
		result = `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(result)), Request: r}, nil
}

func (s *starvedServer) run(id string, over chan struct{}) {
	time.Sleep(s.after)
	ends := make(chan struct{})
	s.mu.Lock()
	s.running[id] = ends
	s.mu.Unlock()
	<-ends
	close(over)
}

func (s *starvedServer) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled++
	if ends := s.running[id]; ends != nil {
		close(ends)
		delete(s.running, id)
	}
}

// A request that arrives after its cancellation is cancelled all the same. If the server does not
// confirm the request, the cancellation is repeated.
func TestACallThatArrivesLateIsCancelled(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // until the call is read
	}{
		{"read at once", 0},
		{"read a second late", time.Second},
		{"read six seconds late", 6 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &starvedServer{after: test.after, running: map[string]chan struct{}{}}
				c, err := mcp.DialWith(t.Context(), ClientWith("http://starved.example/mcp", ClientOptions{HTTP: &http.Client{Transport: s}}), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				began := time.Now()
				if _, err := c.CallTool(ctx, "x", nil); err == nil || time.Since(began) > time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				time.Sleep(time.Minute)
				s.mu.Lock()
				if len(s.running) != 0 || s.cancelled != 4 {
					t.Errorf("%d calls run, %d cancellations came", len(s.running), s.cancelled)
				}
				s.mu.Unlock()
				s.left.Wait()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
