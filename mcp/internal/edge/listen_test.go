package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A notifier is a Handler whose notifications the test sends, through the Peer of any listen
// request.
type notifier struct {
	marks   bool
	refuse  string // resource with a failing listen
	decline string // resource that is not agreed to

	mu       sync.Mutex
	requests []*mcp.Request
	ended    []int // requests that are over
}

func (n *notifier) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "server/discover" {
		result := mcp.Result{JSON: []byte(`{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"n","version":"1"}}`)}
		if n.marks {
			result.Meta = json.RawMessage(`{"` + mcp.ChangesKey + `":"0"}`)
		}
		return result, nil
	}
	n.mu.Lock()
	i := len(n.requests)
	n.requests = append(n.requests, req)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ended = append(n.ended, i)
	}()
	if n.refuse != "" && strings.Contains(string(req.Params), n.refuse) {
		return mcp.Result{}, errors.New("refused")
	}
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

func (n *notifier) request(i int) *mcp.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requests[i]
}

func (n *notifier) over() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprint(n.ended)
}

// acknowledge acknowledges the i-th listen request.
func (n *notifier) acknowledge(t *testing.T, i int) {
	t.Helper()
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	req := n.request(i)
	if err := json.Unmarshal(req.Params, &params); err != nil {
		t.Fatal(err)
	}
	params.Notifications.ResourceSubscriptions = slices.DeleteFunc(params.Notifications.ResourceSubscriptions, func(uri string) bool { return uri == n.decline })
	data, _ := json.Marshal(params)
	req.Peer.Notify(t.Context(), "notifications/subscriptions/acknowledged", data)
}

// notify sends a notification through the i-th listen request.
func (n *notifier) notify(t *testing.T, i int, method, mark string) {
	t.Helper()
	params := json.RawMessage(`{"level":"error"}`)
	if mark != "" {
		params = fmt.Appendf(nil, `{"_meta":{%q:%q}}`, mcp.ChangesKey, mark)
	}
	n.request(i).Peer.Notify(t.Context(), "notifications/"+method, params)
}

// heard holds the messages that reached the client.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) Send(_ context.Context, message []byte) error {
	var m struct{ Method string }
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, strings.TrimPrefix(m.Method, "notifications/"))
	return nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, " ")
}

func initialize(t *testing.T, n *notifier, principal *mcp.Principal) *edge.Session {
	t.Helper()
	session, reply := newEdge(t, n).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{Principal: principal})
	if session == nil {
		t.Fatalf("%s", reply.Message)
	}
	return session
}

// listening opens the stream of a session; end closes it.
func listening(t *testing.T, session *edge.Session) (client *heard, end func()) {
	t.Helper()
	client = &heard{}
	ctx, cancel := context.WithCancel(t.Context())
	run, err := session.Listen(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { run() })
	synctest.Wait()
	return client, func() { cancel(); done.Wait() }
}

// change subscribes or unsubscribes in the background and returns the reply's code.
func change(t *testing.T, session *edge.Session, method, uri string) <-chan int {
	t.Helper()
	code := make(chan int, 1)
	m := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/%s","params":{"uri":%q}}`, method, uri))
	go func() { code <- session.Request(t.Context(), nil, m, edge.From{Out: deaf{}}).Code }()
	synctest.Wait()
	return code
}

func TestEachSubscriptionIsAListenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notifier{}
		session := initialize(t, n, nil)
		_, end := listening(t, session)
		defer end()
		n.acknowledge(t, 0)
		for i, uri := range []string{"test://a", "test://b"} {
			code := change(t, session, "subscribe", uri)
			n.acknowledge(t, i+1)
			if got := <-code; got != 0 {
				t.Errorf("subscribe: code %d", got)
			}
		}
		for i, want := range []string{`{"notifications":{"toolsListChanged":true}}`, `{"notifications":{"resourceSubscriptions":["test://a"]}}`, `{"notifications":{"resourceSubscriptions":["test://b"]}}`} {
			if got := string(n.request(i).Params); got != want {
				t.Errorf("request %d: %s, want %s", i, got, want)
			}
		}
		<-change(t, session, "unsubscribe", "test://a")
		synctest.Wait()
		if got := n.over(); got != "[1]" {
			t.Errorf("requests %s are over, want that of the resource", got)
		}
	})
}

func TestANotificationComesOnceHoweverManyResourcesAreSubscribedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notifier{}
		session := initialize(t, n, nil)
		client, end := listening(t, session)
		defer end()
		n.acknowledge(t, 0)
		code := change(t, session, "subscribe", "test://a")
		n.notify(t, 0, "tools/list_changed", "")
		n.acknowledge(t, 1)
		<-code
		for i := range 2 {
			n.notify(t, i, "message", "")
			n.notify(t, i, "resources/updated", "")
			n.notify(t, i, "prompts/list_changed", "")
			n.notify(t, i, "progress", "")
		}
		if got, want := client.String(), "tools/list_changed message prompts/list_changed resources/updated"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		<-change(t, session, "unsubscribe", "test://a")
		n.notify(t, 1, "resources/updated", "")
		if got := client.String(); strings.Count(got, "updated") != 1 {
			t.Errorf("after it was unsubscribed: %s", got)
		}
	})
}

// split returns the filter of a listen request and the mark that it starts from.
func split(params json.RawMessage) (filter, since string) {
	var p struct {
		Notifications json.RawMessage   `json:"notifications"`
		Meta          map[string]string `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p)
	return string(p.Notifications), p.Meta[mcp.ChangesKey]
}

func TestAStreamThatOpensAgainGoesOnWhereEachSubscriptionWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notifier{marks: true}
		session := initialize(t, n, nil)
		<-change(t, session, "subscribe", "test://early")
		_, end := listening(t, session)
		for i := range 2 {
			if filter, since := split(n.request(i).Params); since != "0" {
				t.Errorf("%s: begins at %q, want the mark of the handshake", filter, since)
			}
		}
		n.acknowledge(t, 0)
		n.acknowledge(t, 1)
		code := change(t, session, "subscribe", "test://late")
		n.acknowledge(t, 2)
		<-code
		marks := map[string]string{}
		for i := range 3 {
			filter, _ := split(n.request(i).Params)
			method := "resources/updated"
			if strings.Contains(filter, "tools") {
				method = "tools/list_changed"
			}
			marks[filter] = fmt.Sprint("m", i)
			n.notify(t, i, method, fmt.Sprint("m", i))
		}
		end()
		_, end = listening(t, session)
		defer end()
		for i := range 3 {
			if filter, since := split(n.request(3 + i).Params); since == "" || since != marks[filter] {
				t.Errorf("%s: goes on at %q, want %q", filter, since, marks[filter])
			}
		}
	})
}

func TestAResourceThatTheServerDoesNotNotifyOfIsAnError(t *testing.T) {
	for how, n := range map[string]*notifier{"declined": {decline: "test://gone"}, "refused": {refuse: "test://gone"}} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := initialize(t, n, nil)
				client, end := listening(t, session)
				defer end()
				n.acknowledge(t, 0)
				code := change(t, session, "subscribe", "test://gone")
				n.acknowledge(t, 1)
				if got := <-code; got != mcp.CodeInvalidParams {
					t.Errorf("subscribe: code %d", got)
				}
				code = change(t, session, "subscribe", "test://a")
				n.acknowledge(t, 2)
				if got := <-code; got != 0 {
					t.Errorf("the next one: code %d", got)
				}
				n.notify(t, 0, "tools/list_changed", "")
				if got := client.String(); got != "tools/list_changed" {
					t.Errorf("got %s", got)
				}
				synctest.Wait()
				if got := n.over(); got != "[1]" {
					t.Errorf("requests %s are over, want that of the resource", got)
				}
			})
		})
	}
}

func TestTheSessionsListenRequestsHaveItsPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ada := &notifier{}, &mcp.Principal{Subject: "ada"}
		session := initialize(t, n, ada)
		_, end := listening(t, session)
		defer end()
		code := change(t, session, "subscribe", "test://a")
		n.acknowledge(t, 1)
		<-code
		for i := range 2 {
			if got := n.request(i).Principal; got != ada {
				t.Errorf("request %d: principal %v", i, got)
			}
		}
	})
}
