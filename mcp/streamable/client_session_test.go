package streamable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A restartable server has one session at a time and forgets it at a restart.
type restartable struct {
	mu      sync.Mutex
	starts  int
	known   bool
	status  int    // for an unknown session
	body    string // for an unknown session
	sent    []string
	streams chan struct{} // closed to end the streams of notifications
}

func (s *restartable) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
	close(s.streams)
	s.streams = make(chan struct{})
}

func (s *restartable) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := strings.Join(s.sent, ", ")
	s.sent = nil
	return sent
}

func (s *restartable) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	body, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Parse(body, jsonrpc.Limits{})
	id := r.Header.Get("Mcp-Session-Id")
	s.sent = append(s.sent, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, m.Method, id)))
	if m.Method == methodInitialize {
		s.starts++
		s.known = true
		w.Header().Set("Mcp-Session-Id", "same")
	}
	known, streams := s.known, s.streams
	s.mu.Unlock()
	switch {
	case !known:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.status)
		io.WriteString(w, s.body)
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "retry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"opened\"}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-streams:
		case <-r.Context().Done():
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, clientGood)
	}
}

func initialize(t *testing.T, l link.Link) {
	t.Helper()
	if _, err := l.Call(t.Context(), link.Out{ID: "5", Method: methodInitialize, Message: jsonrpc.AppendRequest(nil, "5", methodInitialize, nil)}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestALostSessionIsRecognizedAndBegunAgain(t *testing.T) {
	const noSession = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`
	const notInitialized = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`
	for _, test := range []struct {
		name   string
		status int
		body   string
	}{
		{"404", 404, ""},
		{"404 with an error", 404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`},
		{"400 of the TypeScript SDK", 400, noSession},
		{"400 of its transport", 400, notInitialized},
		{"400 of the Python SDK", 400, "Bad Request: No valid session ID provided"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &restartable{status: test.status, body: test.body, streams: make(chan struct{})}
			l, _ := dialTest(t, s.serve, ClientOptions{})
			initialize(t, l)
			s.restart()
			_, err := l.Call(t.Context(), clientOut("tools/call"), nil)
			status, ok := errors.AsType[*mcp.StatusError](err)
			if !errors.Is(err, link.ErrSessionLost) || errors.Is(err, link.ErrNoResponse) || !ok || status.Status != test.status {
				t.Errorf("got %v", err)
			}
			s.requests()
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); !errors.Is(err, link.ErrSessionLost) {
						t.Errorf("before another handshake: %v", err)
					}
				})
			}
			calls.Wait()
			if sent := s.requests(); sent != "" {
				t.Errorf("without a session were sent: %s", sent)
			}
			initialize(t, l)
			if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); err != nil {
				t.Error(err)
			}
			if sent := s.requests(); sent != "POST initialize, POST tools/call same" {
				t.Errorf("the server saw %s", sent)
			}
		})
	}
}

func TestA400IsALostSessionOnlyAfterTheStreamBroke(t *testing.T) {
	s := &restartable{status: 400, body: "no", streams: make(chan struct{})}
	l, _ := dialTest(t, s.serve, ClientOptions{})
	initialize(t, l)
	s.mu.Lock()
	s.known = false
	s.mu.Unlock()
	if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); err == nil || errors.Is(err, link.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	s.mu.Lock()
	s.known = true
	s.mu.Unlock()
	opened, received := make(chan struct{}), make(chan error)
	go func() {
		received <- l.Receive(t.Context(), func() {}, func(*jsonrpc.Message) { close(opened) })
	}()
	<-opened
	s.restart()
	if err := <-received; !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("Receive: %v", err)
	}
	if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
}

// A refusal may repeat input of one client, while others share the session.
func TestARefusalThatNamesASessionLosesNoneThatTheServerKnows(t *testing.T) {
	s := &restartable{streams: make(chan struct{})}
	l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if m, _ := jsonrpc.Parse(body, jsonrpc.Limits{}); m.Method == "tools/call" {
			http.Error(w, "Invalid message: "+string(body), 400)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.serve(w, r)
	}, ClientOptions{})
	initialize(t, l)
	forged := link.Out{ID: "5", Method: "tools/call", Message: []byte(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"session"}}`)}
	if _, err := l.Call(t.Context(), forged, nil); err == nil || errors.Is(err, link.ErrSessionLost) {
		t.Fatalf("got %v", err)
	}
	opened := make(chan struct{}, 10)
	go l.Receive(t.Context(), func() {}, func(*jsonrpc.Message) { opened <- struct{}{} })
	<-opened
	l.(*clientLink).session.heard(false) // as while the stream is being reopened
	if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); err == nil || errors.Is(err, link.ErrSessionLost) {
		t.Errorf("after the stream broke: %v", err)
	}
	if _, err := l.Call(t.Context(), clientOut("tools/list"), nil); err != nil {
		t.Error(err)
	}
}

func TestAStreamOfALostSessionEndsWithIt(t *testing.T) {
	s := &restartable{status: 404, streams: make(chan struct{})}
	l, _ := dialTest(t, s.serve, ClientOptions{})
	initialize(t, l)
	opened, received := make(chan struct{}), make(chan error)
	go func() {
		received <- l.Receive(t.Context(), func() {}, func(*jsonrpc.Message) { close(opened) })
	}()
	<-opened
	s.mu.Lock()
	s.known = false // the stream stays open, as behind a proxy
	s.mu.Unlock()
	if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	if err := <-received; !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("Receive: %v", err)
	}
}

// A response to a request of the previous session must not be used for a request of this one with
// the same id.
func TestAMessageOfAnotherSessionIsNotSent(t *testing.T) {
	s := &restartable{streams: make(chan struct{})}
	l, _ := dialTest(t, s.serve, ClientOptions{})
	for _, id := range []jsonrpc.ID{"1", "2"} { // a session begins before its response, which is a response to "5" here, is read
		l.Call(t.Context(), link.Out{ID: id, Method: methodInitialize, Message: jsonrpc.AppendRequest(nil, id, methodInitialize, nil)}, nil)
	}
	s.requests()
	for session, want := range map[jsonrpc.ID]string{"1": "", "2": "POST  same", "": "POST  same"} {
		err := l.Send(t.Context(), link.Out{Session: session, Message: []byte(clientGood)})
		if got := s.requests(); got != want || errors.Is(err, link.ErrSessionLost) != (want == "") {
			t.Errorf("in the session that began with %q the server got %q, want %q: %v", session, got, want, err)
		}
	}
}

func TestARefusedKeyCanBeFoundOut(t *testing.T) {
	_, url := dialTest(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://example.com/meta"`)
		w.WriteHeader(http.StatusUnauthorized)
	}, ClientOptions{})
	c, err := mcp.Dial(t.Context(), Client(url))
	if c != nil {
		defer c.Close()
	}
	var status *mcp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusUnauthorized || status.Header.Get("WWW-Authenticate") != `Bearer resource_metadata="https://example.com/meta"` {
		t.Errorf("got %v", err)
	}
}
