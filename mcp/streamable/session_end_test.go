package streamable

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A leakyStore counts the events of sessions and calls forgetting for each that ends.
type leakyStore struct {
	mu         sync.Mutex
	kept       map[string]int
	forgetting func()
}

func (l *leakyStore) Append(_ context.Context, session string, _ Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[session]++
	return nil
}

func (l *leakyStore) After(context.Context, string, uint64, uint64) ([]Event, error) { return nil, nil }

func (l *leakyStore) Forget(session string) {
	l.mu.Lock()
	delete(l.kept, session)
	forgetting := l.forgetting
	l.mu.Unlock()
	if forgetting != nil {
		forgetting()
	}
}

// The response to a call that the end of its session cancelled comes after the end.
func TestNothingIsKeptOfASessionThatEnded(t *testing.T) {
	store := &leakyStore{kept: map[string]int{}}
	inMemory(t, Options{EventStore: store}, func(t *testing.T, s *site, f *fixture) {
		id := s.handshake(polling)
		mcp.AddTool(f.Server, "late", func(ctx context.Context, _ struct{}) (string, error) {
			mcp.Progress(ctx, 1, 2, "")
			<-ctx.Done()
			time.Sleep(time.Second)
			return "late", nil
		})
		events := s.events(s.do("POST", callTool(1, "late", "{}"), "Mcp-Session-Id", id))
		events.want("progress")
		if resp := s.do("DELETE", "", "Mcp-Session-Id", id); resp.StatusCode != 204 {
			t.Fatal(resp.Status)
		}
		time.Sleep(time.Minute)
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.kept) > 0 {
			t.Errorf("kept: %v", store.kept)
		}
	})
}

// A request that has just found its session must not be cancelled because the session was idle
// before.
func TestASessionThatIsUsedAgainDoesNotExpire(t *testing.T) {
	store := &leakyStore{kept: map[string]int{}}
	inMemory(t, Options{SessionTimeout: time.Minute, EventStore: store}, func(t *testing.T, s *site, f *fixture) {
		for range 2 {
			s.handshake(polling)
		}
		table := &s.endpoint.sessions
		store.mu.Lock()
		store.forgetting = func() { // the other is used while the first ends
			table.mu.Lock()
			defer table.mu.Unlock()
			for _, other := range table.byID {
				other.touch()
			}
		}
		store.mu.Unlock()
		time.Sleep(time.Minute + 20*time.Second)
		synctest.Wait()
		if n := s.sessions(); n != 1 {
			t.Errorf("%d sessions are left of two, one of which was used", n)
		}
	})
}

// A closed Endpoint, such as that of a replica that leaves, does not end the sessions of its clients.
func TestAClosedEndpointKnowsNoEndOfSessions(t *testing.T) {
	for name, o := range map[string]Options{"alone": {}, "of several replicas": sharedOptions(oneKey)} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, newFixture(t).Server, o)
			id := s.handshake("2025-11-25")
			s.endpoint.Close()
			for _, method := range []string{"POST", "GET", "DELETE"} {
				body := ""
				if method == "POST" {
					body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
				}
				if resp := s.do(method, body, "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s: status %s, Retry-After %q", method, resp.Status, resp.Header.Get("Retry-After"))
				}
			}
		})
	}
}
