package edge

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// waiting answers at once, except subscriptions, which last until they are cancelled.
func waiting(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case methodDiscover:
		return mcp.Result{JSON: []byte(`{"capabilities":{"resources":{"subscribe":true}}}`)}, nil
	case methodListen:
		<-ctx.Done()
	case "tools/call":
		return mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)}, nil
	}
	return mcp.Result{}, ctx.Err()
}

func newWaiting(t *testing.T) *Edge {
	t.Helper()
	e, err := New(mcp.HandlerFunc(waiting), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// grown returns the growth of the live heap during f, in MiB.
func grown(f func()) int {
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	f()
	return (heap() - before) >> 20
}

func describing(i, size int) string {
	return fmt.Sprintf(`{"name":"%d%s","version":"1"}`, i, strings.Repeat("x", size))
}

func TestNamesOfModernClientsAreNotKept(t *testing.T) {
	e := newWaiting(t)
	call := func(i, size int) int {
		return e.Modern(t.Context(), nil, parsed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":%s,"io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":%s}}}}}`, describing(i, size), describing(i, size))), From{}).Code
	}
	n := grown(func() {
		for i := range 8 {
			if code := call(i, 1<<20); code != jsonrpc.InvalidParams {
				t.Fatalf("a description of 1 MiB: code %d", code)
			}
		}
		for i := range 200 {
			if code := call(i, 15<<10); code != 0 {
				t.Fatalf("a description of 15 KiB: code %d", code)
			}
		}
	})
	if n > 1 {
		t.Errorf("%d MiB are kept", n)
	}
	runtime.KeepAlive(e)
}

func TestAllSessionsHoldLimitedBytes(t *testing.T) {
	e := newWaiting(t)
	open := func(i, size int) (*Session, Reply) {
		return e.Initialize(t.Context(), nil, parsed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":%s}},"clientInfo":%s}}`, describing(i, size), describing(i, size))), From{})
	}
	if s, reply := open(0, 1<<20); s != nil || reply.Code != jsonrpc.InvalidParams {
		t.Errorf("a description of 1 MiB: %s", reply.Message)
	}
	var sessions []*Session
	n := grown(func() {
		for i := range 1_500 {
			if s, _ := open(i, 15<<10); s != nil {
				sessions = append(sessions, s)
			}
		}
	})
	if n > 48 || len(sessions) == 1_500 {
		t.Errorf("%d MiB are kept of %d sessions", n, len(sessions))
	}
	if s, reply := open(0, 10); s == nil {
		t.Errorf("a session that says little: %s", reply.Message)
	}
	sessions[0].Close()
	sessions[0].Close()
	if s, reply := open(0, 15<<10); s == nil {
		t.Errorf("after another session ended: %s", reply.Message)
	}
	if s, _ := open(0, 15<<10); s != nil {
		t.Error("a session that was closed twice was counted twice")
	}
}

func TestASessionSubscribesToALimitOfBytes(t *testing.T) {
	e := newWaiting(t)
	session, _ := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), From{})
	ask := func(method, uri string) int {
		return session.Request(t.Context(), nil, parsed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, uri)), From{}).Code
	}
	uri := func(i, size int) string { return fmt.Sprintf("test://%d", i) + strings.Repeat("x", size) }
	if code := ask(methodSubscribe, uri(0, 9<<10)); code != jsonrpc.InvalidParams {
		t.Errorf("a URI of 9 KiB: code %d", code)
	}
	subscribed := 0
	for subscribed < 1_000 && ask(methodSubscribe, uri(subscribed, 8_000)) == 0 {
		subscribed++
	}
	if subscribed < 100 || subscribed > 131 {
		t.Errorf("%d subscriptions of 8,000 bytes", subscribed)
	}
	ask(methodUnsubscribe, uri(0, 8_000))
	ask(methodUnsubscribe, uri(0, 8_000))
	if code := ask(methodSubscribe, uri(500, 8_000)); code != 0 {
		t.Errorf("after one less: code %d", code)
	}
	if code := ask(methodSubscribe, uri(501, 8_000)); code != jsonrpc.InvalidParams {
		t.Errorf("one too many again: code %d", code)
	}
}

func TestListensHoldLimitedBytes(t *testing.T) {
	e := newWaiting(t)
	filter := func(n, size int) string {
		uris := strings.Repeat(`,"test://`+strings.Repeat("x", size)+`"`, n)[1:]
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%s]},%s}}`, uris, modernMeta)
	}
	for what, m := range map[string]string{"a URI of 9 KiB": filter(1, 9<<10), "a filter of 2 MiB": filter(256, 8<<10-100)} {
		if code := e.Modern(t.Context(), nil, parsed(t, m), From{}).Code; code != jsonrpc.InvalidParams {
			t.Errorf("%s: code %d", what, code)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var listens sync.WaitGroup
	refused := make(chan int, 100)
	for range 100 {
		listens.Go(func() {
			if code := e.Modern(ctx, nil, parsed(t, filter(120, 8_000)), From{}).Code; code != 0 {
				refused <- code
			}
		})
	}
	for range 60 {
		if code := <-refused; code != jsonrpc.InternalError {
			t.Errorf("refused with %d", code)
		}
	}
	cancel(ErrShutdown)
	listens.Wait()
	if held := e.sessions.Used(); held != 0 {
		t.Errorf("%d bytes are held when no listen runs", held)
	}
}

// The other content of the memory of a listen's message must not live as long as the listen.
func TestAListenKeepsNoMoreOfItsMessageThanItNeeds(t *testing.T) {
	n := grown(func() {
		m := parsed(t, `{"jsonrpc":"2.0","junk":"`+strings.Repeat("x", 8<<20)+`","id":1,"method":"subscriptions/listen","params":{`+modernMeta+`}}`)
		Compact(m, 8<<20)
		t.Cleanup(func() { runtime.KeepAlive(m) })
		if !IsModern(m) {
			t.Error("the parameters are lost")
		}
	})
	if n > 1 {
		t.Errorf("%d MiB are kept", n)
	}
}

func TestTheResponsesToABatchHaveALimitOfBytes(t *testing.T) {
	e := newWaiting(t)
	session, _ := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`), From{})
	data := []byte("[" + strings.Repeat(`,{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, 40)[1:] + "]")
	responses := Batch(nil, data, 1_024, func(m *jsonrpc.Message) []byte { return session.Request(t.Context(), nil, m, From{}).Message })
	if len(responses) > maxBatchResponses+1<<20 {
		t.Errorf("%d bytes of responses", len(responses))
	}
	results, refusals := bytes.Count(responses, []byte(`"result"`)), bytes.Count(responses, []byte("send fewer messages"))
	if results < 10 || results+refusals != 40 {
		t.Errorf("%d results and %d refusals of 40", results, refusals)
	}
}

func TestMessagesThatAreBeingAnsweredHaveALimitOfBytes(t *testing.T) {
	release := make(chan struct{})
	e, err := New(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { <-release; return mcp.Result{}, nil }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := e.NewConnection(t.Context(), sent{}, nil)
	defer c.Close()
	var running sync.WaitGroup
	responses := make(chan string, 100)
	large := strings.Repeat("x", 15<<20)
	for i := range 5 {
		job := new(Job)
		c.Accept(job, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"x":"%s",%s}}`, i, large, modernMeta))
		running.Go(func() { responses <- string(job.Run(nil)) })
	}
	for range 3 {
		if response := <-responses; !strings.Contains(response, "too many bytes") {
			t.Errorf("%.200s", response)
		}
	}
	close(release)
	running.Wait()
	if c.Held() != 0 {
		t.Errorf("%d bytes are held when nothing runs", c.Held())
	}
}

// Each resource of a listen costs a Handler memory, however short its URI is; a gateway, a hundred
// bytes.
func TestAListenCountsEachOfItsResources(t *testing.T) {
	e := newWaiting(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	listen := func(resources int) Reply {
		uris := strings.Repeat(`,"a"`, resources)[1:]
		return e.Modern(over, nil, parsed(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%s]},%s}}`, uris, modernMeta)), From{})
	}
	if reply := listen(200_000); reply.Code != jsonrpc.InvalidParams {
		t.Errorf("one with 200,000 resources: %.200s", reply.Message)
	}
	if reply := listen(10_000); reply.Code == jsonrpc.InvalidParams {
		t.Errorf("one with 10,000 resources: %.200s", reply.Message)
	}
	if held := e.sessions.Used(); held != 0 {
		t.Errorf("%d bytes are held when no listen runs", held)
	}
	params := []byte(`{"notifications":{"resourceSubscriptions":[` + strings.Repeat(`,"a"`, 10_000)[1:] + `]}}`)
	n := 0
	for ; n < 100; n++ {
		if _, fault := e.admitListen(params, ""); fault != nil {
			break
		}
	}
	if n > 30 {
		t.Errorf("%d with 10,000 resources are admitted at a time", n)
	}
}

// The other content of the memory of a result's message must not live as long as the kept result.
func TestAKeptResultKeepsNothingOfItsMessage(t *testing.T) {
	e, err := New(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == methodDiscover {
			return mcp.Result{JSON: []byte(`{"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}, nil
		}
		message := append([]byte(`{"content":[]}{"a/b":1}`), make([]byte, 8<<20)...)
		return mcp.Result{JSON: message[:14], Meta: message[14:23]}, nil
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := e.Initialize(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`), From{})
	n := grown(func() {
		for range 16 {
			if reply := s.Request(t.Context(), nil, parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","task":{}}}`), From{}); !bytes.Contains(reply.Message, []byte(`"taskId"`)) {
				t.Fatalf("%s", reply.Message)
			}
		}
	})
	if n > 16 {
		t.Errorf("%d MiB are kept of 16 results", n)
	}
	runtime.KeepAlive(s)
}
