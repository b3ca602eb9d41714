package httpsse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A clientPeer is a server that a test controls: its output on the stream, and its handling of
// messages.
type clientPeer struct {
	endpoint string // content of the first event
	untyped  bool   // the stream has no content type
	say      chan string
	message  func(p *clientPeer, w http.ResponseWriter, m *jsonrpc.Message)
}

func (p *clientPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		m, fault := jsonrpc.Parse(body, jsonrpc.Limits{})
		if fault != nil || r.URL.RequestURI() != "/messages?s=1" || r.Header.Get("X-Extra") != "yes" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		p.message(p, w, &m)
		return
	}
	w.Header()["Content-Type"] = nil // no guessed value
	if !p.untyped {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	io.WriteString(w, p.endpoint)
	w.(http.Flusher).Flush()
	for {
		select {
		case text, ok := <-p.say:
			if !ok {
				return
			}
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func dialPeer(t *testing.T, p *clientPeer, o ClientOptions) (link.Link, string, error) {
	t.Helper()
	p.say = make(chan string, 10)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Header = http.Header{"X-Extra": {"yes"}}
	l, err := ClientWith(strings.Replace(server.URL, "http://", "http://me:s3cret@", 1)+"/sse?key=s3cret", o).(link.Linker).Link(t.Context())
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, server.URL, err
}

func request(id int64, method string) link.Out {
	return link.Out{ID: jsonrpc.IntID(id), Method: method, Message: jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), method, nil)}
}

// echo answers requests on the stream with themselves, and accepts other messages.
func echo(p *clientPeer, w http.ResponseWriter, m *jsonrpc.Message) {
	w.WriteHeader(http.StatusAccepted)
	io.WriteString(w, "Accepted")
	if m.Kind == jsonrpc.Request {
		p.say <- fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"method\":%q}}\n\n", m.ID, m.Method)
	}
}

const goodEndpoint = "id: 0\n\nevent: endpoint\ndata: /messages?s=1\n\n"

func TestClientCalls(t *testing.T) {
	p := &clientPeer{endpoint: goodEndpoint, message: echo}
	l, _, err := dialPeer(t, p, ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for id, method := range []string{"initialize", "tools/list"} {
		m, err := l.Call(t.Context(), request(int64(id), method), nil)
		if err != nil || string(m.Result) != fmt.Sprintf(`{"method":%q}`, method) {
			t.Errorf("%s: %+v, %v", method, m, err)
		}
	}
	if err := l.Send(t.Context(), link.Out{Method: "notifications/initialized", Message: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}); err != nil {
		t.Error(err)
	}
	p.say <- "data: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\nevent: other\ndata: x\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"two\"}\n\n"
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var got []string
	err = l.Receive(ctx, func() {}, func(m *jsonrpc.Message) {
		if got = append(got, m.Method); len(got) == 2 {
			cancel(enough)
		}
	})
	if err != enough || strings.Join(got, " ") != "one two" {
		t.Errorf("received %v, %v", got, err)
	}
	if l.ClosingCancels() {
		t.Error("giving up a call cannot cancel it here")
	}
}

func TestClientResolvesTheEndpoint(t *testing.T) {
	for _, test := range []struct {
		name, first, want string
	}{
		{"a path", goodEndpoint, ""},
		{"a relative path", "event: endpoint\ndata: messages?s=1\n\n", ""},
		{"a whole URL", "event: endpoint\ndata: ORIGIN/messages?s=1\n\n", ""},
		{"another server", "event: endpoint\ndata: https://evil.example/messages?s=s3cret\n\n",
			"the URL for messages is of another server, https://evil.example/messages, which is refused"},
		{"another server without a scheme", "event: endpoint\ndata: //evil.example/messages\n\n",
			"the URL for messages is of another server, http://evil.example/messages, which is refused"},
		{"another scheme", "event: endpoint\ndata: file:///etc/passwd\n\n",
			"the URL for messages is of another server, a URL that cannot be read, which is refused"},
		{"no URL", "event: endpoint\ndata: http://%zz\n\n", "the URL for messages cannot be read"},
		{"a message first", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", `expected the event "endpoint" first, found ""`},
		{"heartbeats first", ": hi\n\nevent: ping\ndata: 1\n\ndata: {\"type\":\"heartbeat\"}\n\n" + goodEndpoint, ""},
		{"many events first", strings.Repeat("event: ping\ndata: 1\n\n", maxBefore+1), `expected the event "endpoint" first, found "ping"`},
		{"spaces around it", "event: endpoint\ndata:  /messages?s=1 \n\n", ""},
		{"a long one", "event: endpoint\ndata: /" + strings.Repeat("x", maxEndpoint) + "\n\n", "the URL for messages is over 8192 bytes long"},
		{"silence", "", "the server did not name the URL for messages within 100ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &clientPeer{message: echo}
			p.say = make(chan string)
			server := httptest.NewServer(p)
			defer server.Close()
			p.endpoint = strings.ReplaceAll(test.first, "ORIGIN", server.URL)
			o := ClientOptions{Header: http.Header{"X-Extra": {"yes"}}, Logger: slog.New(slog.DiscardHandler)}
			if test.name == "silence" {
				o.EndpointTimeout = 100 * time.Millisecond
			}
			l, err := ClientWith(server.URL+"/sse", o).(link.Linker).Link(t.Context())
			if err == nil {
				defer l.Close()
				err = l.Send(t.Context(), link.Out{Message: []byte(`{"jsonrpc":"2.0","method":"x"}`)})
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestClientErrors(t *testing.T) {
	t.Run("a message that is refused fails its call", func(t *testing.T) {
		l, url, err := dialPeer(t, &clientPeer{endpoint: goodEndpoint, message: func(_ *clientPeer, w http.ResponseWriter, _ *jsonrpc.Message) {
			w.WriteHeader(400)
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}}, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Call(t.Context(), request(1, "tools/call"), nil)
		want := "expected a response to tools/call: POST " + url + "/sse: HTTP status 400: no (-32600)"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
	t.Run("the end of the stream ends calls and the link", func(t *testing.T) {
		l, _, err := dialPeer(t, &clientPeer{endpoint: goodEndpoint, message: func(p *clientPeer, w http.ResponseWriter, _ *jsonrpc.Message) {
			w.WriteHeader(202)
			close(p.say)
		}}, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Call(t.Context(), request(1, "tools/call"), nil)
		if want := "expected a response to tools/call: the stream ended, and the session with it: EOF"; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		<-l.Done()
	})
	t.Run("Close ends calls", func(t *testing.T) {
		asked := make(chan struct{})
		l, _, err := dialPeer(t, &clientPeer{endpoint: goodEndpoint, message: func(_ *clientPeer, w http.ResponseWriter, _ *jsonrpc.Message) {
			w.WriteHeader(202)
			close(asked)
		}}, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := l.Call(t.Context(), request(1, "tools/call"), nil)
			failed <- err
		}()
		<-asked
		l.Close()
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := l.Send(t.Context(), request(2, "x")); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("a server that is not valid", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		_, err := Client(server.URL).(link.Linker).Link(t.Context())
		if status, ok := errors.AsType[*mcp.StatusError](err); !ok || status.Status != 404 {
			t.Errorf("got %v", err)
		}
	})
}

func TestAServerThatForgotTheSessionEndsTheLinkThoughTheStreamIsOpen(t *testing.T) {
	for status, body := range map[int]string{404: "", 400: "No transport found for sessionId"} {
		l, _, err := dialPeer(t, &clientPeer{endpoint: goodEndpoint, message: func(_ *clientPeer, w http.ResponseWriter, _ *jsonrpc.Message) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}}, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Call(t.Context(), request(1, "tools/call"), nil); !errors.Is(err, link.ErrSessionLost) {
			t.Errorf("status %d: got %v", status, err)
		}
		select {
		case <-l.Done():
		case <-time.After(2 * time.Minute):
			t.Fatalf("status %d: the link is alive", status)
		}
		if !errors.Is(l.Err(), link.ErrSessionLost) {
			t.Errorf("status %d: Err is %v", status, l.Err())
		}
	}
}

// A refusal may repeat input of one client, while others share the link.
func TestARefusalThatNamesASessionEndsNoLinkThatTheServerKnows(t *testing.T) {
	l, _, err := dialPeer(t, &clientPeer{endpoint: goodEndpoint, message: func(_ *clientPeer, w http.ResponseWriter, m *jsonrpc.Message) {
		if m.Method != "ping" {
			http.Error(w, `Invalid message: {"name":"session"}`, 400)
		}
	}}, ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Call(t.Context(), request(1, "tools/call"), nil); err == nil || errors.Is(err, link.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	if l.Err() != nil {
		t.Errorf("the link ended: %v", l.Err())
	}
}
