package streamable

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// newPeered returns some replicas that know each other, and a balancer in front of them.
func newPeered(t *testing.T, n int, h func(i int) mcp.Handler) (all []*site, balanced *site) {
	return newPeeredWith(t, n, sharedOptions(oneKey), h)
}

// newPeeredWith is newPeered with options.
func newPeeredWith(t *testing.T, n int, o Options, h func(i int) mcp.Handler) (all []*site, balanced *site) {
	b := &rotation{}
	var urls []string
	for i := range n {
		o.Peers = func() (others []string) {
			others = append(others, urls[:i]...)
			return append(others, urls[i+1:]...)
		}
		s := newSite(t, h(i), o)
		all, urls, b.replicas = append(all, s), append(urls, s.url), append(b.replicas, s.endpoint)
	}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return all, &site{t, nil, server.URL, client}
}

// TestClientsRespondAtAnyReplica has many clients that are asked in calls, and whose responses reach other replicas.
func TestClientsRespondAtAnyReplica(t *testing.T) {
	f := newFixture(t)
	_, balanced := newPeered(t, 3, func(int) mcp.Handler { return f.Server })
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		var running sync.WaitGroup
		for i := range 6 {
			running.Go(func() {
				c, err := mcp.DialWith(t.Context(), Client(balanced.url), mcp.ClientOptions{Revision: revision, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: []byte(fmt.Sprintf(`{"name":"%d"}`, i))}, nil
				}})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for range 20 {
					if r, err := c.CallTool(t.Context(), "ask", struct{}{}); err != nil || r.Text() != fmt.Sprint(i) {
						t.Errorf("%s: client %d: %v, %v", revision, i, r, err)
						return
					}
				}
			})
		}
		running.Wait()
	}
}

// TestPeersPassOn sends to one replica what belongs to the other.
func TestPeersPassOn(t *testing.T) {
	f := newFixture(t)
	all, _ := newPeered(t, 2, func(int) mcp.Handler { return f.Server })
	here, there := all[0], all[1]
	id := here.handshake("2025-11-25")
	session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}

	t.Run("a cancellation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go here.abandon(ctx, callTool(1, "wait", `{}`), append(session, "Accept", "application/json, text/event-stream")...)
		<-f.begun
		there.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, session...)
		select {
		case <-f.causes:
		case <-time.After(10 * time.Second):
			t.Error("the call goes on")
		}
	})
	t.Run("a stream to resume", func(t *testing.T) {
		go func() { f.steps <- "one" }() // the response begins with it
		steps := here.events(here.do("POST", callTool(2, "steps", `{}`), session...))
		steps.want("one")
		f.steps <- "disconnect" // the client may resume anywhere
		for _, err := steps.next(); err == nil; _, err = steps.next() {
		}
		go func() { f.steps <- "two" }()
		resumed := there.events(there.do("GET", "", append(session, "Last-Event-ID", steps.last)...))
		resumed.want("two")
		close(f.steps)
		resumed.want("all steps done")
		resumed.wantEnd()
	})
	t.Run("the log level", func(t *testing.T) {
		here.read(here.do("POST", `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}`, session...))
		if s := there.endpoint.sessions.find(id, nil); s == nil || !s.protocol.Holds() {
			t.Error("the other replica does not know it")
		}
	})
	t.Run("a notification stream that nobody knows", func(t *testing.T) {
		resp := here.do("GET", "", append(session, "Last-Event-ID", "g7-1")...)
		if resp.StatusCode != 200 {
			t.Errorf("status %d", resp.StatusCode)
		}
		resp.Body.Close()
	})
	t.Run("a response to nothing", func(t *testing.T) {
		if resp := here.do("POST", `{"jsonrpc":"2.0","id":"x.junction-1","result":{}}`, session...); resp.StatusCode != 400 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("the end", func(t *testing.T) {
		here.do("DELETE", "", session...)
		if got := there.ping(id); got != http.StatusNotFound {
			t.Errorf("status %d", got)
		}
	})
}

// TestUpdatesComeWhereTheStreamIs subscribes at one replica, and listens at the other.
func TestUpdatesComeWhereTheStreamIs(t *testing.T) {
	f := newFixture(t)
	all, _ := newPeered(t, 2, func(int) mcp.Handler { return f.Server })
	here, there := all[0], all[1]
	id := here.handshake("2025-11-25")
	session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}
	stream := there.events(there.do("GET", "", session...))
	if body := here.read(here.do("POST", `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`, session...)); !strings.Contains(body, "result") {
		t.Fatal(body)
	}
	f.ResourceUpdated("test://a")
	for {
		got, err := stream.next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "resources/updated") {
			return
		}
	}
}

// TestASilentPeerDelaysNoResponse has a peer that never answers.
func TestASilentPeerDelaysNoResponse(t *testing.T) {
	f := newFixture(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	here := newSite(t, f.Server, sharedOptions(oneKey))
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{"http://" + silent.Addr().String(), here.url} }
	there := newSite(t, f.Server, o)
	session := []string{"Mcp-Session-Id", here.handshake("2025-11-25"), "MCP-Protocol-Version", "2025-11-25"}
	asks := here.events(here.do("POST", callTool(1, "ask", `{}`), session...))
	asked, err := asks.next()
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(asked, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	begun := time.Now()
	resp := there.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":"ada"}}}`, id), session...)
	if took := time.Since(begun); resp.StatusCode != 202 || took >= peerTime {
		t.Errorf("status %d after %v", resp.StatusCode, took)
	}
	asks.want(`"ada"`)
}

// TestMessagesForPeersThatAreAway has another replica that does not respond, and then one that has ended.
func TestMessagesForPeersThatAreAway(t *testing.T) {
	t.Parallel()
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // until it is closed
		for {
			c, err := away.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	f := newFixture(t)
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{"http://" + away.Addr().String()} }
	s := newSite(t, f.Server, o)
	session := []string{"Mcp-Session-Id", s.handshake("2025-11-25"), "MCP-Protocol-Version", "2025-11-25"}
	want := func(when string, status int) {
		t.Helper()
		for name, resp := range map[string]*http.Response{
			"a response":           s.do("POST", `{"jsonrpc":"2.0","id":"x.junction-1","result":{}}`, session...),
			"the stream of a call": s.do("GET", "", append(session, "Last-Event-ID", "p7-1")...),
		} {
			body := s.read(resp)
			if resp.StatusCode != status || (status == http.StatusServiceUnavailable) != (resp.Header.Get("Retry-After") != "") {
				t.Errorf("%s: %s: status %d, %s", when, name, resp.StatusCode, body)
			}
		}
	}
	want("a peer that is away", http.StatusServiceUnavailable)
	away.Close()
	want("a peer that has ended", http.StatusBadRequest)
}
