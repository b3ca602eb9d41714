package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

const clientGood = `{"jsonrpc":"2.0","id":5,"result":{"a":1}}`

// clientOut returns request 5.
func clientOut(method string) link.Out {
	return link.Out{ID: "5", Method: method, Message: jsonrpc.AppendRequest(nil, "5", method, nil),
		Header: http.Header{"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Method": {method}}}
}

func clientOutcome(m *jsonrpc.Message, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case m.Error != nil:
		return "fault: " + m.Error.Error()
	}
	return string(m.Result)
}

// dialTest connects to a server that a test implements.
func dialTest(t *testing.T, h http.HandlerFunc, o ClientOptions) (link.Link, string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := ClientWith(strings.Replace(server.URL, "http://", "http://me:s3cret@", 1)+"/mcp?key=s3cret", o).(link.Linker).Link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, server.URL + "/mcp"
}

func respondWith(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestClientReadsReplies(t *testing.T) {
	const expected = "expected a response to tools/call: "
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		want, delivered         string
	}{
		{"one response", "application/json; charset=utf-8", clientGood, 200, `{"a":1}`, ""},
		{"an error response", "application/json", `{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}}`, 200, "fault: no (-32602)", ""},
		{"a batch", "application/json", `[{"jsonrpc":"2.0","method":"one"},` + clientGood + `,{"jsonrpc":"2.0","method":"two"}]`, 200, `{"a":1}`, "one two"},
		{"an id that became a string", "application/json", `{"jsonrpc":"2.0","id":"5","result":{}}`, 200, `{}`, ""},
		{"another id", "application/json", `{"jsonrpc":"2.0","id":6,"result":{}}`, 200,
			"error: " + expected + "found messages, but no response with the id 5", ""},
		{"no JSON", "application/json", `oops`, 200,
			"error: " + expected + "the reply is not valid: offset 0: expected a value, found 'o' (-32700)", ""},
		{"nothing", "application/json", " \n", 200, "error: " + expected + "found HTTP status 200 with an empty body", ""},
		{"accepted", "", "", 202, "error: " + expected + "found HTTP status 202 without a response", ""},
		{"a page", "text/html", "<p>log in", 200, `error: ` + expected + `expected application/json or text/event-stream, found the content type "text/html", and a body that begins with "<p>log in"`, ""},
		{"too much", "application/json", strings.Repeat(" ", 2000), 200, "error: " + expected + "message too long: over 1000 bytes", ""},
		{"a stream", "text/event-stream",
			": hello\n\nid: 1\ndata:\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\nevent: other\ndata: x\n\ndata: " + clientGood + "\n\n", 200, `{"a":1}`, "one"},
		{"a stream that ends early", "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\n", 200,
			"error: " + expected + "the stream ended; it cannot be resumed, and the server may have executed the request", "one"},
		{"a stream with too much", "text/event-stream", "id: 1\ndata: " + strings.Repeat("x", 2000) + "\n\n", 200,
			"error: " + expected + "event too large: more than 1000 bytes", ""},
		{"a status with a JSON-RPC error", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"no"}}`, 400,
			"error: " + expected + "POST URL: HTTP status 400: no (-32020)", ""},
		{"a status with a text", "text/plain", "go\x1b[1m away\n", 403, `error: ` + expected + `POST URL: HTTP status 403: go\x1b[1m away`, ""},
		{"a status alone", "", "", 404, "error: " + expected + "POST URL: HTTP status 404", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, url := dialTest(t, respondWith(test.status, test.contentType, test.body), ClientOptions{MaxMessage: 1000})
			var delivered []string
			got := clientOutcome(l.Call(t.Context(), clientOut("tools/call"), func(m *jsonrpc.Message) { delivered = append(delivered, m.Method) }))
			if got = strings.ReplaceAll(got, url, "URL"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if strings.Join(delivered, " ") != test.delivered {
				t.Errorf("delivered %q, want %q", delivered, test.delivered)
			}
		})
	}
}

func TestClientStatusErrors(t *testing.T) {
	l, url := dialTest(t, respondWith(400, "application/json", `{"jsonrpc":"2.0","id":5,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}`), ClientOptions{})
	_, err := l.Call(t.Context(), clientOut("tools/call"), nil)
	status, ok := errors.AsType[*mcp.StatusError](err)
	if !ok || status.Status != 400 || status.Method != "POST" || status.URL != url || status.Fault == nil || status.Fault.Code != -32022 || string(status.Fault.Data) != `{"supported":[]}` {
		t.Errorf("got %+v, %v", status, err)
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v shows a secret", err)
	}
}

// recorder records the requests to a server.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) add(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(req.Body)
	m, _ := jsonrpc.Parse(body, jsonrpc.Limits{})
	r.lines = append(r.lines, fmt.Sprintf("%s %s session=%s version=%s extra=%s accept=%s", req.Method, m.Method,
		req.Header.Get("Mcp-Session-Id"), req.Header.Get("Mcp-Protocol-Version"), req.Header.Get("X-Extra"), req.Header.Get("Accept")))
}

func TestClientKeepsTheSession(t *testing.T) {
	var seen recorder
	gone := false
	l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
		seen.add(r)
		switch {
		case gone && r.Header.Get("Mcp-Session-Id") != "":
			w.WriteHeader(404)
		case r.Method == http.MethodGet:
			w.WriteHeader(405)
		default:
			w.Header().Set("Content-Type", "application/json")
			if len(seen.lines) == 1 {
				w.Header().Set("Mcp-Session-Id", "abc~1")
			}
			io.WriteString(w, clientGood)
		}
	}, ClientOptions{Header: http.Header{"x-extra": {"yes"}, "Accept": {"nonsense"}}})
	ctx := t.Context()
	initialize := link.Out{ID: "5", Method: "initialize", Message: []byte(`{"jsonrpc":"2.0","id":5,"method":"initialize"}`)}
	if _, err := l.Call(ctx, initialize, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Send(ctx, link.Out{Method: "notifications/initialized", Header: clientOut("").Header, Message: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Receive(ctx, func() {}, nil); !errors.Is(err, link.ErrNoChannel) {
		t.Errorf("Receive: %v", err)
	}
	gone = true
	if _, err := l.Call(ctx, clientOut("tools/list"), nil); !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("session lost: %v", err)
	}
	if _, err := l.Call(ctx, clientOut("tools/list"), nil); !errors.Is(err, link.ErrSessionLost) {
		t.Errorf("before another handshake: %v", err)
	}
	gone = false
	seen.lines = seen.lines[:0]
	if _, err := l.Call(ctx, initialize, nil); err != nil {
		t.Fatal(err)
	}
	l.Call(ctx, clientOut("tools/list"), nil)
	l.Close()
	const accept = " extra=yes accept=application/json, text/event-stream"
	want := []string{
		"POST initialize session= version=" + accept,
		"POST tools/list session=abc~1 version=2025-11-25" + accept,
		"DELETE  session=abc~1 version=2025-11-25 extra=yes accept=nonsense",
	}
	if got := strings.Join(seen.lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the server saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if err := l.Err(); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("Err is %v", err)
	}
	if _, err := l.Call(ctx, clientOut("tools/list"), nil); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestClientRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server is asked, with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, test := range []struct {
		name, to string
		status   int
		want     string
	}{
		{"within the server", "/new", 307, `{"a":1}`},
		{"to another server", other.URL + "/x?key=s3cret", 308,
			"error: expected a response to tools/call: redirected to another server, " + other.URL + "/x; if that is right, use its URL"},
		{"that forget the message", "/new", 302,
			"error: expected a response to tools/call: redirected to ORIGIN/new in a way that turns POST into GET; if that is right, use its URL"},
		{"round and round", "/mcp", 307, "error: expected a response to tools/call: redirected more than 5 times"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, url := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/new" {
					respondWith(200, "application/json", clientGood)(w, r)
					return
				}
				http.Redirect(w, r, test.to, test.status)
			}, ClientOptions{Header: http.Header{"Authorization": {"Bearer s3cret"}}})
			got := clientOutcome(l.Call(t.Context(), clientOut("tools/call"), nil))
			got = strings.ReplaceAll(strings.ReplaceAll(got, url, "URL"), strings.TrimSuffix(url, "/mcp"), "ORIGIN")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestClientCallEnds(t *testing.T) {
	for _, body := range []string{"", ": stream\n\nid: 1\ndata:\n\n"} {
		started, closed := make(chan struct{}, 1), make(chan struct{}, 1)
		l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
			io.ReadAll(r.Body)
			if body != "" {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, body)
				w.(http.Flusher).Flush()
			}
			started <- struct{}{}
			<-r.Context().Done()
			closed <- struct{}{}
		}, ClientOptions{})
		call := func(ctx context.Context) chan error {
			failed := make(chan error, 1)
			go func() {
				_, err := l.Call(ctx, clientOut("tools/call"), nil)
				failed <- err
			}()
			<-started
			return failed
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := call(ctx)
		cancel(errors.New("the time is over"))
		if err, want := <-failed, "expected a response to tools/call: the time is over"; err == nil || err.Error() != want {
			t.Errorf("with its context: %v, want %s", err, want)
		}
		<-closed
		failed = call(t.Context())
		l.Close()
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("with the link: %v", err)
		}
		<-closed
	}
}

func TestClientUsesConnectionsAgain(t *testing.T) {
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		var mu sync.Mutex
		addresses := make(map[string]bool)
		l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			addresses[r.RemoteAddr] = true
			mu.Unlock()
			body := clientGood
			if contentType != "application/json" {
				body = "data: " + clientGood + "\n\n"
			}
			respondWith(200, contentType, body)(w, r)
		}, ClientOptions{})
		for range 20 {
			if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); err != nil {
				t.Fatal(err)
			}
			l.(*clientLink).owned.Wait()
		}
		if len(addresses) > 2 {
			t.Errorf("%s: %d connections for 20 calls", contentType, len(addresses))
		}
	}
}

func TestClientURLs(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://example.com":            `expected a server's URL that starts with http:// or https://, found the scheme "ftp"`,
		"https:///mcp":                 "expected a server's URL with a host, found none",
		"http://me:s3cret@host:bad/%z": `the server's URL cannot be read: invalid port ":bad" after host`,
	} {
		if _, err := Client(url).(link.Linker).Link(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", url, err, want)
		}
	}
	if got := Client("https://me:s3cret@example.com/mcp?key=s3cret#s3cret").String(); got != "https://example.com/mcp" {
		t.Errorf("named %s", got)
	}
	_, err := mustConnect(t, "http://me:s3cret@127.0.0.1:1/mcp?key=s3cret").Call(t.Context(), clientOut("tools/call"), nil)
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.HasPrefix(err.Error(), "expected a response to tools/call: dial tcp 127.0.0.1:1: ") {
		t.Errorf("nobody there: %v", err)
	}
}

func mustConnect(t *testing.T, url string) link.Link {
	t.Helper()
	l, err := Client(url).(link.Linker).Link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestClientLeavesNothing(t *testing.T) {
	body := "id: 1\ndata: " + clientGood + "\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			return
		}
		w.Header().Set("Mcp-Session-Id", "1")
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			io.WriteString(w, body)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done() // streams without an end
	}))
	defer server.Close()
	for range 3 {
		l, err := Client(server.URL).(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var receiving, calls sync.WaitGroup
		receiving.Go(func() { l.Receive(t.Context(), func() {}, func(*jsonrpc.Message) {}) })
		for range 5 {
			calls.Go(func() {
				if _, err := l.Call(t.Context(), clientOut("tools/call"), nil); err != nil {
					t.Error(err)
				}
			})
		}
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			l.Call(ctx, clientOut("tools/call"), nil)
		}
		calls.Wait()
		l.Close()
		receiving.Wait()
	}
	// the package's TestMain looks for leaks
}
