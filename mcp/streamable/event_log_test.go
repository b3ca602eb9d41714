package streamable

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/state"
)

// A replicaLog is one replica's view of a log, which counts operations.
type replicaLog struct {
	state.Log
	name string
	runs func(name string) bool
	away atomic.Bool
	ops  atomic.Int64
	lost atomic.Int64 // appends that are done, and then reported as uncertain
}

func (l *replicaLog) Replica() string { return l.name }

func (l *replicaLog) Runs(_ context.Context, name string) (bool, error) {
	if l.away.Load() {
		return false, state.ErrUnavailable
	}
	return l.runs(name), nil
}

func (l *replicaLog) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	l.ops.Add(1)
	if l.away.Load() {
		return 0, state.ErrUnavailable
	}
	at, err := l.Log.Append(ctx, key, value, w)
	if err == nil && l.lost.Add(-1) >= 0 {
		return 0, fmt.Errorf("%w: %w", state.ErrUnavailable, state.ErrUncertain)
	}
	return at, err
}

func (l *replicaLog) Read(ctx context.Context, key string, after uint64, limit int) ([]state.Record, error) {
	l.ops.Add(1)
	if l.away.Load() {
		return nil, state.ErrUnavailable
	}
	return l.Log.Read(ctx, key, after, limit)
}

func (l *replicaLog) Trim(ctx context.Context, key string, keep state.Keep, hold state.Hold) error {
	l.ops.Add(1)
	if l.away.Load() {
		return state.ErrUnavailable
	}
	return l.Log.Trim(ctx, key, keep, hold)
}

// A loggedSite is a replica with an EventLog.
type loggedSite struct {
	*site
	log    *replicaLog
	kept   *EventLog
	server *httptest.Server
}

// newLogged returns replicas that share a log, and a function that ends one as a kill does.
func newLogged(t *testing.T, n int, h mcp.Handler) (all []*loggedSite, kill func(i int)) {
	memory := state.NewMemory(0)
	var ended sync.Map
	for i := range n {
		log := &replicaLog{Log: memory, name: fmt.Sprint("replica ", i), runs: func(name string) bool { _, is := ended.Load(name); return !is }}
		events, err := NewEventLog(log, oneKey, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		o := sharedOptions(oneKey)
		o.EventLog = events
		e := HandlerWith(h, o)
		server := httptest.NewServer(e)
		t.Cleanup(func() { e.Close(); server.CloseClientConnections(); server.Close(); events.Close() })
		all = append(all, &loggedSite{&site{t, e, server.URL, server.Client()}, log, events, server})
	}
	return all, func(i int) {
		all[i].log.away.Store(true) // nothing more comes from it
		ended.Store(all[i].log.name, true)
		all[i].server.CloseClientConnections()
	}
}

// written waits until a replica has written its events.
func (s *loggedSite) written() {
	s.t.Helper()
	if !s.kept.settle(s.t.Context()) {
		s.t.Error("the events are not written")
	}
}

// TestAClientResumesAtAnotherReplica cuts the connection before each of some messages, and resumes
// at another replica each time.
func TestAClientResumesAtAnotherReplica(t *testing.T) {
	const messages = 4
	for _, revision := range []string{polling, beforePolling} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			all, _ := newLogged(t, 3, f.Server)
			id := all[0].handshake(revision)
			session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", revision}
			next := make(chan struct{}, messages+2)
			go func() {
				for i := range messages + 1 {
					<-next
					if i == messages {
						close(f.steps)
						return
					}
					f.steps <- "step"
				}
			}()
			next <- struct{}{}
			e := all[0].events(all[0].do("POST", callTool(1, "steps", "{}"), session...))
			var got []string
			for i := 0; ; i++ {
				message, err := e.next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("after %q: %v", got, err)
				}
				got = append(got, summary(message))
				last, at := e.last, all[(i+1)%3]
				if e.resp.Body.Close(); i < messages {
					next <- struct{}{}
				}
				e = at.events(at.do("GET", "", append(session, "Last-Event-ID", last)...))
				e.last = last
			}
			if want := "[1 2 3 4 all steps done]"; fmt.Sprint(got) != want {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
}

// TestACallOfAReplicaThatDiedEndsWithOneError kills a replica whose call has sent two events, of
// which the client has one.
func TestACallOfAReplicaThatDiedEndsWithOneError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ revision, call, want string }{
		{polling, callTool(7, "steps", "{}"), `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"` + lostText + `"}}`},
		{beforePolling, callTool(7, "steps", "{}"), `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"` + lostText + `"}}`},
		{"2025-03-26", `[{"jsonrpc":"2.0","method":"notifications/progress"},` + callTool(7, "steps", "{}") + `,{"jsonrpc":"2.0","id":"x","method":"ping"}]`,
			`[{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"` + lostText + `"}},{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"` + lostText + `"}}]`},
	} {
		t.Run(test.revision, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			all, kill := newLogged(t, 3, f.Server)
			session := []string{"Mcp-Session-Id", all[0].handshake(test.revision), "MCP-Protocol-Version", test.revision}
			go func() { f.steps <- "one"; f.steps <- "two" }()
			e := all[0].events(all[0].do("POST", test.call, session...))
			e.want("one")
			f.steps <- "three" // the two before are sent
			last := e.last
			e.want("two")
			e.want("three")
			all[0].written()
			kill(0)
			var running sync.WaitGroup
			for _, at := range all[1:] {
				running.Go(func() {
					resumed := at.events(at.do("GET", "", append(session, "Last-Event-ID", last)...))
					resumed.want(`"two"`)
					resumed.want(`"three"`)
					if got, err := resumed.next(); err != nil || got != test.want {
						t.Errorf("got %s, %v; want %s", got, err, test.want)
					}
					resumed.wantEnd()
					again := at.events(at.do("GET", "", append(session, "Last-Event-ID", resumed.last)...))
					again.wantEnd()
				})
			}
			running.Wait()
		})
	}
}
