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
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A newsroom is a Handler whose news the test tells, through the Peer of
// whichever listen request it wants.
type newsroom struct {
	positions bool
	refuse    string // listening to this resource fails
	decline   string // this resource is not agreed to

	mu     sync.Mutex
	listen []*mcp.Request
	ended  int // how many of them are over
}

func (n *newsroom) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "server/discover" {
		result := mcp.Result{JSON: []byte(`{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"n","version":"1"}}`)}
		if n.positions {
			result.Meta = json.RawMessage(`{"` + mcp.ChangesKey + `":"0"}`)
		}
		return result, nil
	}
	n.mu.Lock()
	n.listen = append(n.listen, req)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ended++
	}()
	if n.refuse != "" && strings.Contains(string(req.Params), n.refuse) {
		return mcp.Result{}, errors.New("refused")
	}
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

func (n *newsroom) requests() []*mcp.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.listen)
}

func (n *newsroom) over() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// acknowledge puts the i-th listen request in force.
func (n *newsroom) acknowledge(t *testing.T, i int) {
	t.Helper()
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	req := n.requests()[i]
	if err := json.Unmarshal(req.Params, &params); err != nil {
		t.Fatal(err)
	}
	params.Notifications.ResourceSubscriptions = slices.DeleteFunc(params.Notifications.ResourceSubscriptions, func(uri string) bool { return uri == n.decline })
	data, _ := json.Marshal(params)
	req.Peer.Notify(t.Context(), "notifications/subscriptions/acknowledged", data)
}

// tell tells a piece of news through the i-th listen request.
func (n *newsroom) tell(t *testing.T, i int, method, position string) {
	t.Helper()
	var params json.RawMessage
	if position != "" {
		params = fmt.Appendf(nil, `{"_meta":{%q:%q}}`, mcp.ChangesKey, position)
	}
	n.requests()[i].Peer.Notify(t.Context(), "notifications/"+method, params)
}

// heard is what reached the client.
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

// listening begins a session whose news go to the client; end closes it.
func listening(t *testing.T, n *newsroom) (session *edge.Session, client *heard, end func()) {
	t.Helper()
	session, reply := newEdge(t, n).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
	if session == nil {
		t.Fatalf("%s", reply.Message)
	}
	client = &heard{}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { session.Listen(ctx, client) })
	synctest.Wait()
	n.acknowledge(t, 0)
	return session, client, func() { cancel(); done.Wait() }
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

// Where two listen requests overlap, the newer begins at the position of the
// older, so what the older still says with a position would come twice.
func TestOverlappingListensTellEachThingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newsroom{positions: true}
		session, client, end := listening(t, n)
		defer end()
		n.tell(t, 0, "tools/list_changed", "1")
		code := change(t, session, "subscribe", "test://a")
		if since := string(n.requests()[1].Params); !strings.Contains(since, `"`+mcp.ChangesKey+`":"1"`) {
			t.Errorf("the newer request begins elsewhere: %s", since)
		}
		n.tell(t, 0, "tools/list_changed", "2")
		n.tell(t, 0, "message", "")
		n.acknowledge(t, 1)
		if got := <-code; got != 0 {
			t.Errorf("subscribe: code %d", got)
		}
		n.tell(t, 0, "tools/list_changed", "3")
		n.tell(t, 1, "tools/list_changed", "3")
		n.tell(t, 1, "resources/updated", "4")
		if got := client.String(); got != "tools/list_changed tools/list_changed resources/updated" {
			t.Errorf("told %s", got)
		}
	})
}

func TestNewsWithoutPositionsAreToldUntilTheNextListenIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newsroom{}
		session, client, end := listening(t, n)
		defer end()
		code := change(t, session, "subscribe", "test://a")
		n.tell(t, 0, "tools/list_changed", "")
		n.acknowledge(t, 1)
		<-code
		n.tell(t, 1, "resources/updated", "")
		if got := client.String(); got != "tools/list_changed resources/updated" {
			t.Errorf("told %s", got)
		}
	})
}

// Nobody knows whether the newer request has what the older one has under way.
func TestAListenWithoutPositionsLeavesTimeForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newsroom{}
		session, _, end := listening(t, n)
		defer end()
		for i := range 10 {
			code := change(t, session, "subscribe", fmt.Sprintf("test://%d", i))
			n.acknowledge(t, i+1)
			<-code
			synctest.Wait()
			want := max(0, i+1-8)
			if got := n.over(); got != want {
				t.Errorf("after %d changes: %d requests are over, want %d", i+1, got, want)
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := n.over(); got != 10 {
			t.Errorf("later: %d requests are over, want all but the last", got)
		}
	})
}

func TestAResourceThatTheServerDoesNotTellOfIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newsroom{positions: true, decline: "test://gone"}
		session, client, end := listening(t, n)
		defer end()
		code := change(t, session, "subscribe", "test://gone")
		n.acknowledge(t, 1)
		if got := <-code; got != mcp.CodeInvalidParams {
			t.Errorf("subscribe: code %d", got)
		}
		code = change(t, session, "subscribe", "test://a")
		if filter := string(n.requests()[2].Params); strings.Contains(filter, "gone") {
			t.Errorf("what was refused is asked for again: %s", filter)
		}
		n.acknowledge(t, 2)
		if got := <-code; got != 0 {
			t.Errorf("the next one: code %d", got)
		}
		n.tell(t, 2, "tools/list_changed", "1")
		if got := client.String(); got != "tools/list_changed" {
			t.Errorf("told %s", got)
		}
	})
}

func TestAListenThatFailsLeavesTheNewsToTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newsroom{positions: true, refuse: "test://bad"}
		session, client, end := listening(t, n)
		defer end()
		if got := <-change(t, session, "subscribe", "test://bad"); got != mcp.CodeInvalidParams {
			t.Errorf("subscribe: code %d", got)
		}
		n.tell(t, 0, "tools/list_changed", "1")
		code := change(t, session, "subscribe", "test://a")
		n.acknowledge(t, 2)
		if got := <-code; got != 0 {
			t.Errorf("the next one: code %d", got)
		}
		n.tell(t, 2, "resources/updated", "2")
		if got := client.String(); got != "tools/list_changed resources/updated" {
			t.Errorf("told %s", got)
		}
	})
}
