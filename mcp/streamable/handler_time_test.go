package streamable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A pipeListener returns connections in memory whose writes wait for the reader, for use with a
// fake clock.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours, nil
}

// inMemory runs f in a bubble with an Endpoint.
func inMemory(t *testing.T, o Options, f func(t *testing.T, s *site, f *fixture)) {
	inMemoryServing(t, func(h mcp.Handler) mcp.Handler { return h }, o, f)
}

// inMemoryServing is inMemory with middleware around the fixture's Handler.
func inMemoryServing(t *testing.T, around mcp.Middleware, o Options, f func(t *testing.T, s *site, f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newFixture(t)
		listener := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		e := HandlerWith(around(fixture.Server), o)
		server := &http.Server{Handler: e}
		go server.Serve(listener)
		client := &http.Client{Transport: &http.Transport{DialContext: listener.dial}}
		defer func() {
			fixture.stop()
			e.Close()
			client.CloseIdleConnections()
			server.Close()
		}()
		f(t, &site{t, e, "http://memory/", client}, fixture)
	})
}

func (s *site) alive(session string) bool {
	s.t.Helper()
	resp := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", session)
	s.read(resp)
	return resp.StatusCode == 200
}

// sessions returns the number of sessions in the table.
func (s *site) sessions() int {
	s.endpoint.sessions.mu.Lock()
	defer s.endpoint.sessions.mu.Unlock()
	return len(s.endpoint.sessions.byID)
}

func TestASessionExpiresWhenNothingIsHeardOfIt(t *testing.T) {
	inMemory(t, Options{SessionTimeout: time.Minute}, func(t *testing.T, s *site, f *fixture) {
		used, unused := s.handshake(polling), s.handshake(polling)
		for range 3 {
			time.Sleep(40 * time.Second)
			if !s.alive(used) {
				t.Fatal("a session in use expired")
			}
		}
		synctest.Wait()
		if n := s.sessions(); n != 1 {
			t.Errorf("%d sessions are left before anybody asks for the unused one", n)
		}
		if s.alive(unused) {
			t.Error("an unused session did not expire")
		}
		time.Sleep(59*time.Second + 999*time.Millisecond)
		if !s.alive(used) {
			t.Error("expired early")
		}
		time.Sleep(time.Minute)
		if s.alive(used) {
			t.Error("not expired in time")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.endpoint.sessions.mu.Lock()
		defer s.endpoint.sessions.mu.Unlock()
		if s.endpoint.sessions.timer != nil {
			t.Error("the timer runs on without sessions")
		}
	})
}

func TestASessionDoesNotExpireWhileSomethingRuns(t *testing.T) {
	inMemory(t, Options{SessionTimeout: time.Minute}, func(t *testing.T, s *site, f *fixture) {
		busy, listening := s.handshake(polling), s.handshake(polling)
		go s.abandon(t.Context(), callTool(1, "wait", "{}"), "Mcp-Session-Id", busy)
		<-f.begun
		e := s.events(s.do("GET", "", "Mcp-Session-Id", listening))
		go io.Copy(io.Discard, e.resp.Body)
		time.Sleep(10 * time.Minute)
		if !s.alive(busy) || !s.alive(listening) {
			t.Error("expired")
		}
	})
}

func TestCommentsKeepStreamsOpen(t *testing.T) {
	inMemory(t, Options{}, func(t *testing.T, s *site, f *fixture) {
		for name, open := range map[string]func() *http.Response{
			"a session's notifications": func() *http.Response { return s.do("GET", "", "Mcp-Session-Id", s.handshake(beforePolling)) },
			"a modern subscription":     func() *http.Response { return s.modern("subscriptions/listen", "", `"notifications":{}`) },
		} {
			resp := open()
			lines := bufio.NewScanner(resp.Body)
			begun := time.Now()
			for n := 0; n < 3; {
				if !lines.Scan() {
					t.Fatalf("%s: %v", name, lines.Err())
				}
				if lines.Text() == ":" {
					n++
				}
			}
			if took := time.Since(begun); took < 50*time.Second || took > 75*time.Second {
				t.Errorf("%s: three comments in %v, want one every 25s", name, took)
			}
			resp.Body.Close()
		}
	})
}

func TestNoCommentsWhereThereShallBeNone(t *testing.T) {
	inMemory(t, Options{KeepAlive: -1}, func(t *testing.T, s *site, f *fixture) {
		resp := s.do("GET", "", "Mcp-Session-Id", s.handshake(beforePolling))
		time.AfterFunc(time.Hour, func() { f.RemoveTool("echo") })
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil || strings.HasPrefix(line, ":") {
			t.Errorf("got %q, %v", line, err)
		}
	})
}

func TestASlowReaderIsDroppedAndLosesNothing(t *testing.T) {
	inMemory(t, Options{WriteTimeout: 5 * time.Second, KeepAlive: -1}, func(t *testing.T, s *site, f *fixture) {
		session := s.handshake(beforePolling)
		big := strings.Repeat("x", 100_000)
		begun := time.Now()
		go func() {
			for range 3 {
				f.steps <- big
			}
			close(f.steps)
		}()
		slow := s.events(s.do("POST", callTool(1, "steps", "{}"), "Mcp-Session-Id", session))
		synctest.Wait() // what the client's side buffers is buffered
		time.Sleep(time.Minute)
		synctest.Wait()
		if busy := s.endpoint.sessions.find(session, nil).calls.Len(); busy != 0 {
			t.Fatal("the handler still waits for the reader")
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("took %v", took)
		}
		if message, err := slow.next(); err == nil {
			t.Errorf("the slow reader got %d bytes after all", len(message))
		}
		e := s.resume(session, "p1-0")
		for i := range 3 {
			message, err := e.next()
			if err != nil || summary(message) != fmt.Sprint(i+1) {
				t.Fatalf("got %.100q, %v", message, err)
			}
		}
		e.want("all steps done")
		e.wantEnd()
	})
}

func TestASlowModernReaderCancelsItsRequest(t *testing.T) {
	inMemory(t, Options{WriteTimeout: 5 * time.Second, KeepAlive: -1}, func(t *testing.T, s *site, f *fixture) {
		ended := make(chan error, 1)
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			for {
				if err := req.Peer.Notify(ctx, "notifications/progress", []byte(fmt.Sprintf(`{"progress":%d,"message":%q}`, time.Now().UnixNano(), strings.Repeat("x", 10_000)))); err != nil {
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return mcp.Result{}, err
				}
				time.Sleep(time.Millisecond)
			}
		})
		s.endpoint.edge = Handler(h).edge
		s.modern("tools/call", "x", `"name":"x"`)
		if err := <-ended; err == nil {
			t.Error("not cancelled")
		}
	})
}

func TestEventsAreKeptForAWhile(t *testing.T) {
	inMemory(t, Options{}, func(t *testing.T, s *site, f *fixture) {
		session := s.handshake(polling)
		s.read(s.do("POST", callTool(1, "count", `{"to":2}`), "Mcp-Session-Id", session))
		time.Sleep(4 * time.Minute)
		e := s.resume(session, "p1-1")
		e.want(`"progress":2`)
		e.want("counted")
		time.Sleep(2 * time.Minute)
		e = s.resume(session, "p1-1")
		e.wantEnd()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		store := s.endpoint.options.EventStore.(*MemoryEvents)
		store.mu.Lock()
		defer store.mu.Unlock()
		if store.bytes.Used() != 0 {
			t.Errorf("%d bytes are kept", store.bytes.Used())
		}
		if n := len(s.endpoint.sessions.find(session, nil).streams); n != 0 {
			t.Errorf("%d streams are kept", n)
		}
	})
}
