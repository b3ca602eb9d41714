package streamable

import (
	"fmt"
	"net/http"

	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A caller that takes all sessions and streams must leave others their share.
func TestSessionsAndStreamsAreShared(t *testing.T) {
	f := newFixture(t)
	const most = 40
	s := newSite(t, f.Server, Options{MaxSessions: most, MaxStreams: most, Principal: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Issuer: "i", Subject: r.Header.Get("X-User")}, nil
	}})
	begin := func(user string) (int, string) {
		resp := s.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "X-User", user)
		s.read(resp)
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
	}
	var eves []string
	for range most {
		status, id := begin("eve")
		if status != 200 {
			t.Fatalf("eve alone: %d", status)
		}
		eves = append(eves, id)
	}
	if status, _ := begin("eve"); status != 503 {
		t.Errorf("eve has all, and one more is %d", status)
	}
	adas := map[string]bool{}
	for range most / 2 {
		status, id := begin("ada")
		if status != 200 {
			t.Errorf("ada: %d", status)
		}
		adas[id] = true
	}
	if status, _ := begin("ada"); status != 503 {
		t.Errorf("ada has half, and one more is %d", status)
	}
	ping := func(user, id string) int {
		resp := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "X-User", user, "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25")
		s.read(resp)
		return resp.StatusCode
	}
	for i, id := range eves {
		if want := map[bool]int{true: 404, false: 200}[i < most/2]; ping("eve", id) != want {
			t.Errorf("session %d of eve: want %d", i, want)
		}
	}
	for id := range adas {
		if got := ping("ada", id); got != 200 {
			t.Errorf("a session of ada: %d", got)
		}
	}
	e := s.endpoint
	if held := fmt.Sprint(e.sessions.places.Used(), len(e.sessions.byID)); held != "40 40" {
		t.Errorf("held and there are %s", held)
	}
	for _, id := range eves[most/2:] {
		s.read(s.do("DELETE", "", "X-User", "eve", "Mcp-Session-Id", id))
	}
	if used, of := e.sessions.places.Used(), len(e.sessions.of); used != most/2 || of != 1 {
		t.Errorf("%d are held by %d callers", used, of)
	}
	taken := 0
	for e.streams.Take("principal i\x00eve") {
		taken++
	}
	if taken != most/4 || !e.streams.Take("principal i\x00ada") {
		t.Errorf("eve has %d of %d streams", taken, most)
	}
}

// A caller whose oldest sessions are all in use must leave others their share.
func TestSessionsInUseMakeRoomToo(t *testing.T) {
	f := newFixture(t)
	const most = maxSessionsLooked + 40
	s := newSite(t, f.Server, Options{MaxSessions: most, Principal: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Issuer: "i", Subject: r.Header.Get("X-User")}, nil
	}})
	begin := func(user string) int {
		resp := s.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "X-User", user)
		s.read(resp)
		return resp.StatusCode
	}
	for range most {
		begin("eve")
	}
	table := &s.endpoint.sessions
	e := table.of["principal i\x00eve"].Front()
	for range maxSessionsLooked {
		e.Value.(*session).resumed++ // lasts while a stream is open
		e = e.Next()
	}
	for range 3 {
		if status := begin("ada"); status != 200 {
			t.Errorf("ada: %d", status)
		}
	}
}
