package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A remote is a server over HTTP with sessions, which may answer neither pings nor calls.
type remote struct {
	mu       sync.Mutex
	deaf     bool
	sessions map[string]bool
	begun    int
	pings    int // counts pings
	waiting  int // counts pings that wait
	most     int // the maximum of waiting
}

func (s *remote) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), Request: r}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		return answer(http.StatusMethodNotAllowed, "")
	case http.MethodDelete:
		delete(s.sessions, r.Header.Get("Mcp-Session-Id"))
		return answer(http.StatusOK, "")
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, err
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		s.begun++
		s.deaf = false
		session := fmt.Sprint("session-", s.begun)
		s.sessions[session] = true
		resp, err := answer(http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID))
		resp.Header.Set("Mcp-Session-Id", session)
		return resp, err
	case "tools/list":
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = `{"content":[]}`
	case "ping":
		s.pings++
		s.waiting++
		s.most = max(s.most, s.waiting)
		defer func() { s.waiting-- }()
	}
	if m.ID == nil {
		return answer(http.StatusAccepted, "")
	}
	if s.deaf {
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return nil, r.Context().Err()
	}
	return answer(http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func TestPingsOfARemoteServerThatAnswersNothingDoNotPileUpAndItsSessionIsEnded(t *testing.T) {
	for name, test := range map[string]struct {
		patient, after time.Duration
		pings          int // the maximum
	}{
		"after a call that failed": {10 * time.Second, time.Minute, 5}, // each takes the ten seconds of the timeout
		"while a call waits":       {time.Hour, 30 * time.Minute, 31},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &remote{sessions: map[string]bool{}}
				g := gateway.New(gateway.Options{Logger: quiet})
				must(t, add(g, "s", func(ctx context.Context) (*mcp.Client, error) {
					return mcp.DialWith(ctx, streamable.ClientWith("http://s.test/mcp", streamable.ClientOptions{HTTP: &http.Client{Transport: s}, Logger: quiet}),
						mcp.ClientOptions{Name: "s", Revision: "2025-06-18", Bridge: true, Timeout: test.patient, Logger: quiet})
				}))
				must(t, g.Settle(t.Context()))
				s.mu.Lock()
				s.deaf = true
				s.mu.Unlock()
				began := time.Now()
				_, err := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1}).CallTool(t.Context(), "s__t", nil)
				if err == nil {
					t.Error("the call got a response")
				}
				until := test.after
				if test.patient < until {
					until += test.patient
				}
				time.Sleep(time.Until(began.Add(until + 5*time.Second)))
				s.mu.Lock()
				if s.begun != 2 || len(s.sessions) != 1 || !s.sessions["session-2"] {
					t.Errorf("%d sessions began, and %v are open", s.begun, s.sessions)
				}
				if s.pings == 0 || s.pings > test.pings || s.most != 1 || s.waiting != 0 {
					t.Errorf("%d pings came, %d at a time, and %d wait", s.pings, s.most, s.waiting)
				}
				s.mu.Unlock()
				g.Close()
				if len(s.sessions) != 0 {
					t.Errorf("%v are open at the end", s.sessions)
				}
			})
		})
	}
}
