package streamable

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// getAndClose opens the session's stream of notifications and closes it again.
func (s *site) getAndClose(session string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {session}}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		s.t.Fatalf("GET: status %d", resp.StatusCode)
	}
	cancel()
	wait(s.t, func() bool { return s.endpoint.streams.Used() == 0 })
}

func TestRepeatedGETsKeepFewStreamsAndNoPOSTStreamLosesItsPlace(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	post := s.events(s.do("POST", callTool(1, "count", `{"to":3}`), "Mcp-Session-Id", session))
	first := s.primed(post)
	s.read(post.resp)
	for range 2 * maxStreamsKept {
		s.getAndClose(session)
	}
	found := s.endpoint.sessions.find(session, nil)
	if n := len(found.streams); n > maxListensKept+2 {
		t.Errorf("%d streams are kept", n)
	}
	rest := s.resume(session, first)
	for _, want := range []string{"notifications/progress", "notifications/progress", "notifications/progress", "counted"} {
		rest.want(want)
	}
	rest.wantEnd()
	found.prune(time.Now().Add(time.Hour))
	if n := len(found.streams); n != 0 {
		t.Errorf("%d streams are kept after an hour", n)
	}
}

func TestARefusedGETLeavesNoStreamBehind(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	session := s.handshake(polling)
	s.events(s.do("GET", "", "Mcp-Session-Id", session))
	for range 10 {
		if resp := s.do("GET", "", "Mcp-Session-Id", session); resp.StatusCode != 409 {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	found := s.endpoint.sessions.find(session, nil)
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.opened != 1 || len(found.streams) != 1 {
		t.Errorf("%d streams were opened, %d are kept", found.opened, len(found.streams))
	}
}
