package streamable

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// sendUser sends a modern or sessionless call of a tool as a user.
func (s *site) sendUser(modern bool, user, tool string) *http.Response {
	s.t.Helper()
	arguments := `{}`
	if tool == "echo" {
		arguments = `{"text":"hi"}`
	}
	if !modern {
		return s.do("POST", callTool(1, tool, arguments), "Authorization", user)
	}
	return s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tool, arguments, modernMeta),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool, "Authorization", user)
}

func TestRequestsOfOneClientWithoutASessionAreLimited(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			f := newFixture(t)
			o := Options{Stateless: !modern, Principal: func(r *http.Request) (*mcp.Principal, error) {
				if user := r.Header.Get("Authorization"); user != "" {
					return &mcp.Principal{Subject: user}, nil
				}
				return nil, nil
			}}
			o.MaxInFlight = 2
			s := newSite(t, f.Server, o)
			var running sync.WaitGroup
			for _, user := range []string{"ada", "ada", ""} {
				running.Go(func() { s.read(s.sendUser(modern, user, "wait")) })
				<-f.begun
			}
			for user, want := range map[string]int{"ada": 503, "bob": 200, "": 200} {
				resp := s.sendUser(modern, user, "echo")
				body := s.read(resp)
				if resp.StatusCode != want || want == 503 && (!strings.Contains(body, `"id":1,`) || !strings.Contains(body, "too many requests at once: at most 2") || resp.Header.Get("Retry-After") == "") {
					t.Errorf("%q: status %d, %s; want %d", user, resp.StatusCode, body, want)
				}
			}
			f.stop()
			running.Wait()
			wait(t, func() bool {
				s.endpoint.callers.mu.Lock()
				defer s.endpoint.callers.mu.Unlock()
				return len(s.endpoint.callers.running) == 0
			})
		})
	}
}

func TestRequestsOfABatchWithoutASessionAreLimited(t *testing.T) {
	f := newFixture(t)
	o := Options{Stateless: true}
	o.MaxInFlight = 2
	s := newSite(t, f.Server, o)
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() { s.read(s.do("POST", callTool(1, "wait", `{}`))) })
		<-f.begun
	}
	body := s.read(s.do("POST", "["+callTool(1, "echo", `{"text":"hi"}`)+","+callTool(2, "echo", `{"text":"hi"}`)+"]", "MCP-Protocol-Version", "2025-03-26"))
	if strings.Count(body, "too many requests at once: at most 2") != 2 {
		t.Errorf("got %s", body)
	}
	f.stop()
	running.Wait()
}

// Requests are counted until they are answered: a client with many slow requests must not fill the
// memory.
func TestTheBytesOfRequestsThatAreBeingAnsweredAreLimited(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	large := `"name":"wait","padding":"` + strings.Repeat("x", 15<<20) + `"`
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { s.read(s.modern("tools/call", "wait", large)) })
		<-f.begun
	}
	resp := s.modern("tools/call", "wait", large)
	if body := s.read(resp); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"id":1,`) || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a large request too many: status %d, %s", resp.StatusCode, body)
	}
	if resp := s.modern("tools/call", "echo", `"name":"echo","arguments":{"text":"hi"}`); !strings.Contains(s.read(resp), "hi") {
		t.Errorf("a small request: status %d", resp.StatusCode)
	}
	f.stop()
	running.Wait()
	if resp := s.modern("tools/list", "", `"padding":"`+strings.Repeat("x", 15<<20)+`"`); resp.StatusCode != http.StatusOK {
		t.Errorf("a large request afterwards: status %d", resp.StatusCode)
	}
}
