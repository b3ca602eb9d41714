package streamable

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const polling, beforePolling = "2025-11-25", "2025-06-18"

// resume requests the rest of a stream.
func (s *site) resume(session, last string) *events {
	s.t.Helper()
	return s.events(s.do("GET", "", "Mcp-Session-Id", session, "Last-Event-ID", last))
}

// collect reads the stream of a call to its end. Before message i it drops the connection and
// resumes if bit i of cuts is set.
func (s *site) collect(session string, e *events, cuts uint, before func(i int)) []string {
	s.t.Helper()
	var got []string
	for i := 0; ; i++ {
		if cuts&(1<<i) != 0 {
			last := e.last
			e.resp.Body.Close()
			e = s.resume(session, last)
			e.last = last
		}
		before(i)
		message, err := e.next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			s.t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, summary(message))
	}
}

func TestNoEventIsLostOrDoubledWhereverConnectionsAreCut(t *testing.T) {
	const messages = 4
	for _, replicas := range []int{1, 3} {
		for _, live := range []bool{false, true} {
			for _, revision := range []string{polling, beforePolling} {
				t.Run(fmt.Sprintf("%s live=%v replicas=%d", revision, live, replicas), func(t *testing.T) {
					f := newFixture(t)
					s := newSite(t, f.Server, Options{})
					if replicas > 1 {
						_, s = newPeered(t, replicas, func(int) mcp.Handler { return f.Server })
					}
					session := s.handshake(revision)
					for cuts := range uint(1 << (messages + 2)) {
						if revision != polling {
							cuts &^= 1 // before the first event there is no id to resume from
						}
						s.cutCall(f, session, int(cuts)+100, messages, cuts, live)
					}
				})
			}
		}
	}
}

// cutCall makes a call with an interrupted stream and checks the messages that arrive. With live,
// the tool continues only when the client is back.
func (s *site) cutCall(f *fixture, session string, id, messages int, cuts uint, live bool) {
	s.t.Helper()
	f.steps = make(chan string)
	next := make(chan struct{}, messages+2)
	go func(steps chan string) {
		for i := range messages + 1 {
			if live {
				<-next
			}
			if i == messages {
				close(steps)
			} else {
				steps <- "step"
			}
		}
	}(f.steps)
	if live {
		next <- struct{}{} // a response has no header before its first event
	}
	e := s.events(s.do("POST", callTool(id, "steps", "{}"), "Mcp-Session-Id", session))
	if cuts&1 != 0 {
		e.last = s.primed(e)
	}
	got := s.collect(session, e, cuts, func(i int) {
		if live && i > 0 && i <= messages {
			next <- struct{}{}
		}
	})
	want := "[1 2 3 4 all steps done]"
	if fmt.Sprint(got) != want {
		s.t.Fatalf("cuts %b: got %v, want %s", cuts, got, want)
	}
}

// primed reads the first event of a stream.
func (s *site) primed(e *events) string {
	s.t.Helper()
	first, err := e.Next()
	if err != nil || !first.HasID || first.HasRetry || first.Data == nil || len(first.Data) != 0 {
		s.t.Fatalf("got %+v, %v; want an event with an id and no data, and no time, which the Java SDK before 2.1 cannot read", first, err)
	}
	return first.ID
}

func TestAServerMayDisconnectAClientThatKnowsToComeBack(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{RetryAfter: 1500 * time.Millisecond})
	session := s.handshake(polling)
	go func() {
		for _, step := range []string{"disconnect", "a", "disconnect", "disconnect", "b"} {
			f.steps <- step
		}
	}()
	e := s.events(s.do("POST", callTool(1, "steps", "{}"), "Mcp-Session-Id", session))
	last := s.primed(e)
	retry, err := e.Next()
	if err != nil || !retry.HasRetry || retry.Retry != 1500*time.Millisecond || retry.HasID || retry.Data != nil {
		t.Fatalf("got %+v, %v; want nothing but when to come back", retry, err)
	}
	e.wantEnd()
	var got []string
	for len(got) < 2 {
		e := s.resume(session, last)
		for len(got) < 2 {
			message, err := e.next()
			if err != nil {
				break
			}
			got = append(got, summary(message))
			last = e.last
		}
	}
	e = s.resume(session, last)
	close(f.steps)
	e.want("all steps done")
	e.wantEnd()
	if fmt.Sprint(got) != "[2 5]" {
		t.Errorf("got %v", got)
	}
}

func TestAServerDoesNotDisconnectOlderClients(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	go func() {
		f.steps <- "disconnect"
		close(f.steps)
	}()
	resp := s.do("POST", callTool(1, "steps", "{}"), "Mcp-Session-Id", session)
	if body := s.read(resp); resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "all steps done") {
		t.Errorf("got %s", body)
	}
}

func TestAClientRespondsByPost(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	e := s.events(s.do("POST", callTool(1, "ask", "{}"), "Mcp-Session-Id", session))
	e.want(`"id":"junction-1","method":"elicitation/create"`)
	resp := s.do("POST", `{"jsonrpc":"2.0","id":"junction-1","result":{"action":"accept","content":{"name":"Ada"}}}`, "Mcp-Session-Id", session)
	if resp.StatusCode != 202 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	e.want(`"text":"Ada"`)
	e.wantEnd()
}

func TestNotificationsComeOnceAndAreNotLostBetweenConnections(t *testing.T) {
	const updates = 5
	for cuts := range uint(1 << updates) {
		f := newFixture(t)
		s := newSite(t, f.Server, Options{})
		session := s.handshake(polling)
		for i := range updates {
			s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"test://%d"}}`, i, i), "Mcp-Session-Id", session)
		}
		e := s.events(s.do("GET", "", "Mcp-Session-Id", session))
		e.last = s.primed(e)
		var got []string
		for i := range updates {
			cut := cuts&(1<<i) != 0
			if cut {
				e.resp.Body.Close() // the server may or may not notice it before it notifies
			}
			f.ResourceUpdated(fmt.Sprint("test://", i))
			if cut {
				last := e.last
				e = s.resume(session, last)
			}
			message, err := e.next()
			if err != nil {
				t.Fatalf("cuts %b, after %q: %v", cuts, got, err)
			}
			got = append(got, summary(message))
		}
		if want := "[test://0 test://1 test://2 test://3 test://4]"; fmt.Sprint(got) != want {
			t.Fatalf("cuts %b: got %v, want %v", cuts, got, want)
		}
		s.endpoint.Close()
	}
}

func TestChangesBeforeTheStreamAreSentOnce(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	f.RemoveTool("echo")
	f.RemoveTool("zone")
	e := s.events(s.do("GET", "", "Mcp-Session-Id", session))
	e.want("notifications/tools/list_changed")
	f.AddText(mcp.Resource{URI: "test://b", Name: "b"}, "b")
	e.want("notifications/resources/list_changed")
}

func TestASessionHasOneStreamOfNotifications(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	first := s.events(s.do("GET", "", "Mcp-Session-Id", session))
	first.last = s.primed(first)
	if resp := s.do("GET", "", "Mcp-Session-Id", session); resp.StatusCode != 409 {
		t.Errorf("a second stream: status %d, want 409", resp.StatusCode)
	}
	second := s.resume(session, first.last) // the same client, which lost the connection
	first.wantEnd()
	f.RemoveTool("echo")
	second.want("notifications/tools/list_changed")
	if forgotten := s.do("GET", "", "Mcp-Session-Id", session, "Last-Event-ID", "g99-1"); forgotten.StatusCode != 409 {
		t.Errorf("a stream that is not known, next to one that is: status %d, want 409", forgotten.StatusCode)
	}
	second.resp.Body.Close()
	third := s.resume(session, second.last)
	f.RemoveTool("zone")
	third.want("notifications/tools/list_changed")
}

func TestNotificationsGoOnWhereTheirStreamIsForgotten(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	e := s.resume(session, "g99-1")
	f.RemoveTool("echo")
	e.want("notifications/tools/list_changed")
}

func TestLostConnectionsDoNotCancel(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.abandon(ctx, callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	}()
	<-f.begun
	cancel()
	<-done
	s.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Mcp-Session-Id", session)
	select {
	case cause := <-f.causes:
		t.Fatalf("the request was cancelled: %v", cause)
	default:
	}
	s.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", session)
	if cause := <-f.causes; cause == nil || !strings.Contains(cause.Error(), "client cancelled") {
		t.Errorf("got %v", cause)
	}
}

func TestACancelledRequestGetsNoResponse(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	go func() {
		<-f.begun
		s.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", session)
	}()
	resp := s.do("POST", callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	if body := s.read(resp); resp.StatusCode != 202 || body != "" {
		t.Errorf("got status %d, %q", resp.StatusCode, body)
	}
}

func TestASecondRequestWithTheSameIDIsRefused(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session, other := s.handshake(beforePolling), s.handshake(beforePolling)
	go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	<-f.begun
	if body := s.read(s.do("POST", callTool(1, "echo", `{"text":"hi"}`), "Mcp-Session-Id", session)); !strings.Contains(body, "running already") {
		t.Errorf("got %s", body)
	}
	if body := s.read(s.do("POST", callTool(1, "echo", `{"text":"hi"}`), "Mcp-Session-Id", other)); !strings.Contains(body, `"text":"hi"`) {
		t.Errorf("in another session: got %s", body)
	}
	f.stop()
}

func TestRequestsOfOneSessionAreLimited(t *testing.T) {
	f := newFixture(t)
	o := Options{}
	o.MaxInFlight = 1
	s := newSite(t, f.Server, o)
	session := s.handshake(beforePolling)
	go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", session)
	<-f.begun
	if body := s.read(s.do("POST", callTool(2, "echo", `{"text":"hi"}`), "Mcp-Session-Id", session)); !strings.Contains(body, "too many requests at once") {
		t.Errorf("got %s", body)
	}
	f.stop()
}

func TestStreamsAreForgottenInTheEnd(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(beforePolling)
	for i := range maxStreamsKept + 10 {
		s.read(s.do("POST", callTool(i, "count", `{"to":1}`), "Mcp-Session-Id", session))
	}
	if n := len(s.endpoint.sessions.find(session, nil).streams); n > maxStreamsKept+1 {
		t.Errorf("%d streams are kept", n)
	}
	if resp := s.do("GET", "", "Mcp-Session-Id", session, "Last-Event-ID", "p1-1"); resp.StatusCode != 400 {
		t.Errorf("a forgotten stream: status %d", resp.StatusCode)
	}
}

func TestAServerDisconnectsOnHTTP2Too(t *testing.T) {
	f := newFixture(t)
	e := Handler(f.Server)
	server := httptest.NewUnstartedServer(e)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	s := &site{t, e, server.URL, server.Client()}
	session := s.handshake(polling)
	go func() {
		f.steps <- "a"
		f.steps <- "disconnect"
	}()
	resp := s.do("POST", callTool(1, "steps", "{}"), "Mcp-Session-Id", session)
	if resp.ProtoMajor != 2 {
		t.Fatalf("got %s", resp.Proto)
	}
	stream := s.events(resp)
	stream.want(`"message":"a"`)
	if _, err := stream.next(); err == nil {
		t.Fatal("the stream goes on")
	}
	rest := s.resume(session, stream.last)
	f.steps <- "b"
	rest.want(`"message":"b"`)
	close(f.steps)
	rest.want("all steps done")
	rest.wantEnd()
	modern := s.events(s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	modern.want("acknowledged")
	modern.resp.Body.Close()
	wait(t, func() bool { return e.streams.Used() == 0 })
}

// slowStore takes a minute for each event.
type slowStore struct{ MemoryEvents }

func (s *slowStore) Append(context.Context, string, Event) error {
	time.Sleep(time.Minute)
	return nil
}

func TestAMessageThatWaitsForAnotherCanBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Endpoint{options: Options{EventStore: new(slowStore)}}
		st := newSession(e, "s", nil, nil, "").newStream()
		go st.Send(context.Background(), []byte("first"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := st.Send(ctx, []byte("second")); err != context.DeadlineExceeded {
			t.Errorf("the second message: %v", err)
		}
		if st.resume(ctx, nil, 0) || time.Since(began) != time.Second {
			t.Errorf("resumed, or waited %v", time.Since(began))
		}
		st.finish(nil) // waits for the first
	})
}
