package streamable

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
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

func (l *replicaLog) ID() string { return l.name }

func (l *replicaLog) Lives(_ context.Context, name string) (bool, error) {
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
		o.Principal = func(r *http.Request) (*mcp.Principal, error) {
			if user := r.Header.Get("X-User"); user != "" {
				return &mcp.Principal{Issuer: "i", Subject: user}, nil
			}
			return nil, nil
		}
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
	for end := time.Now().Add(20 * time.Second); !s.kept.settle(s.t.Context()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("the events are not written")
		}
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

// TestAPollingClientComesBackAnywhere has a tool disconnect its client, which resumes at another
// replica before anything else was sent.
func TestAPollingClientComesBackAnywhere(t *testing.T) {
	f := newFixture(t)
	all, _ := newLogged(t, 2, f.Server)
	session := []string{"Mcp-Session-Id", all[0].handshake(polling), "MCP-Protocol-Version", polling}
	go func() { f.steps <- "disconnect" }()
	e := all[0].events(all[0].do("POST", callTool(1, "steps", "{}"), session...))
	last := all[0].primed(e)
	if retry, err := e.Next(); err != nil || !retry.HasRetry {
		t.Fatalf("%+v, %v", retry, err)
	}
	e.wantEnd()
	resumed := all[1].events(all[1].do("GET", "", append(session, "Last-Event-ID", last)...))
	f.steps <- "one"
	resumed.want("one")
	close(f.steps)
	resumed.want("all steps done")
	resumed.wantEnd()
	all[0].log.away.Store(true)
	f.steps = make(chan string)
	go func(steps chan string) { steps <- "one"; steps <- "disconnect"; steps <- "two"; close(steps) }(f.steps)
	connected := all[0].events(all[0].do("POST", callTool(2, "steps", "{}"), session...))
	for _, want := range []string{"one", "two", "all steps done"} { // it could not come back, so it stays
		connected.want(want)
	}
}

// TestMissedNotificationsComeFirst resumes a stream of notifications at another replica.
func TestMissedNotificationsComeFirst(t *testing.T) {
	for _, revision := range []string{polling, beforePolling} {
		t.Run(revision, func(t *testing.T) {
			f := newFixture(t)
			all, kill := newLogged(t, 2, f.Server)
			session := []string{"Mcp-Session-Id", all[0].handshake(revision), "MCP-Protocol-Version", revision}
			e := all[0].events(all[0].do("GET", "", session...))
			if body := all[0].read(all[0].do("POST", `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`, session...)); !strings.Contains(body, "result") {
				t.Fatal(body)
			}
			for range 3 {
				f.ResourceUpdated("test://a")
				e.want("resources/updated")
			}
			last := strings.TrimSuffix(e.last, "3") + "1"
			all[0].written()
			kill(0)
			resumed := all[1].events(all[1].do("GET", "", append(session, "Last-Event-ID", last)...))
			for _, number := range []string{"2", "3"} {
				resumed.want("resources/updated")
				if want := strings.TrimSuffix(last, "1") + number; resumed.last != want {
					t.Errorf("the id of the event is %s, want %s", resumed.last, want)
				}
			}
			f.AddText(mcp.Resource{URI: "test://b", Name: "b"}, "b")
			resumed.want("list_changed")
			if strings.HasPrefix(resumed.last, strings.TrimSuffix(last, "1")) {
				t.Error("a new event has an id of the stream before")
			}
		})
	}
}

// TestCallsWithoutEventsNeedNoLog counts operations on the log.
func TestCallsWithoutEventsNeedNoLog(t *testing.T) {
	f := newFixture(t)
	all, _ := newLogged(t, 1, f.Server)
	s := all[0]
	for _, revision := range []string{"2025-03-26", beforePolling, polling} {
		session := []string{"Mcp-Session-Id", s.handshake(revision), "MCP-Protocol-Version", revision}
		for i := range 20 {
			if body := s.read(s.do("POST", callTool(i, "echo", `{"text":"a"}`), session...)); !strings.Contains(body, `"text":"a"`) {
				t.Fatal(body)
			}
		}
		s.written()
		if n := s.log.ops.Swap(0); n != 0 {
			t.Errorf("%s: 20 calls need %d operations", revision, n)
		}
		if body := s.read(s.do("POST", callTool(99, "count", `{"to":50}`), session...)); !strings.Contains(body, "counted") {
			t.Fatal(body)
		}
		s.written()
		if n := s.log.ops.Swap(0); n < 1 || n > 20 {
			t.Errorf("%s: a call with 50 events needs %d operations", revision, n)
		}
	}
}

// TestTheLogMayFail has writes that are done and then seem to fail, and a log that is away for a while.
func TestTheLogMayFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all, kill := newLogged(t, 2, f.Server)
	session := []string{"Mcp-Session-Id", all[0].handshake(polling), "MCP-Protocol-Version", polling}
	all[0].log.lost.Store(3)
	go func() { f.steps <- "one" }()
	e := all[0].events(all[0].do("POST", callTool(1, "steps", "{}"), session...))
	e.want("one")
	last := e.last
	all[0].written()
	all[0].log.away.Store(true)
	f.steps <- "two"
	e.want("two")
	for all[0].kept.settle(t.Context()) {
	}
	all[0].log.away.Store(false)
	f.steps <- "three"
	e.want("three")
	all[0].written()
	all[1].log.away.Store(true)
	if resp := all[1].do("GET", "", append(session, "Last-Event-ID", last)...); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a replica that cannot read the log: status %d", resp.StatusCode)
	}
	all[1].log.away.Store(false)
	kill(0)
	resumed := all[1].events(all[1].do("GET", "", append(session, "Last-Event-ID", last)...))
	for _, want := range []string{"two", "three", lostText} {
		resumed.want(want)
	}
	resumed.wantEnd()
}

// TestStreamsThatAreNotKeptAreUnknown resumes streams that are not in the log, or were.
func TestStreamsThatAreNotKeptAreUnknown(t *testing.T) {
	f := newFixture(t)
	all, _ := newLogged(t, 2, f.Server)
	session := func() []string {
		return []string{"Mcp-Session-Id", all[0].handshake(polling), "MCP-Protocol-Version", polling}
	}
	status := func(session []string, last string) int {
		t.Helper()
		resp := all[1].do("GET", "", append(session, "Last-Event-ID", last)...)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	call := func(session []string) string {
		t.Helper()
		e := all[0].events(all[0].do("POST", callTool(1, "count", `{"to":2}`), session...))
		e.want("progress")
		last := e.last
		e.want("progress")
		e.want("counted")
		all[0].written()
		return last
	}
	ours, others := session(), session()
	last := call(ours)
	for name, test := range map[string]struct {
		session []string
		last    string
		want    int
	}{
		"its own":           {ours, last, http.StatusOK},
		"of another client": {others, last, http.StatusBadRequest},
		"of no stream":      {ours, "p7-1", http.StatusBadRequest},
		"of another kind":   {ours, "g" + last[1:], http.StatusOK}, // a new stream of notifications
		"malformed":         {ours, "p", http.StatusBadRequest},
	} {
		if got := status(test.session, test.last); got != test.want {
			t.Errorf("%s: status %d, want %d", name, got, test.want)
		}
	}
	all[0].do("DELETE", "", ours...)
	all[0].written()
	if got := status(ours, last); got != http.StatusBadRequest {
		t.Errorf("after the end of the session: status %d", got)
	}
}

// A slowLog is a log whose operations wait.
type slowLog struct {
	replicaLog
	begun, proceed chan struct{}
}

func (l *slowLog) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	l.begun <- struct{}{}
	<-l.proceed
	return l.replicaLog.Append(ctx, key, value, w)
}

// TestSettleWaitsForAWriteThatRuns has settle called while the log takes the last event.
func TestSettleWaitsForAWriteThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &slowLog{replicaLog: replicaLog{Log: state.NewMemory(0), name: "a"}, begun: make(chan struct{}), proceed: make(chan struct{})}
		l, err := NewEventLog(log, oneKey, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.add(&loggedStream{key: logKey(sharedKey{1}, 1)}, 1, []byte(`{}`), false)
		<-log.begun
		settled := make(chan bool, 1)
		go func() { settled <- l.settle(t.Context()) }()
		synctest.Wait()
		select {
		case <-settled:
			t.Error("settle returns before the event is in the log")
			settled <- true
		default:
		}
		close(log.proceed)
		if !<-settled {
			t.Error("the event is not in the log")
		}
	})
}

// TestTheLogIsShared has one caller fill the log, until the stream of another one would have to go.
func TestTheLogIsShared(t *testing.T) {
	memory := state.NewMemory(1 << 30)
	log := &replicaLog{Log: memory, name: "a", runs: func(string) bool { return true }}
	l, err := NewEventLog(log, oneKey, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	add := func(caller string, n uint64, events, size int) *loggedStream {
		st := &loggedStream{key: logKey(sharedKey{1}, n), caller: caller}
		for i := range events {
			l.add(st, uint64(i+1), make([]byte, size), false)
		}
		if !l.settle(t.Context()) {
			t.Fatal("the events are not written")
		}
		return st
	}
	isKept := func(st *loggedStream) bool {
		t.Helper()
		records, err := memory.Read(t.Context(), st.key, 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		return len(records) > 0
	}
	hers := add("ada", 0, 1, 10)
	var eves []*loggedStream
	for n := range uint64(40) {
		eves = append(eves, add("eve", n+1, 4, 400<<10))
	}
	if !isKept(hers) || isKept(eves[0]) || !isKept(eves[39]) {
		t.Errorf("kept: hers %t, of eve's the first %t, the last %t", isKept(hers), isKept(eves[0]), isKept(eves[39]))
	}
	if l.held.Used() > maxLogged || l.held.Of("ada") == 0 {
		t.Errorf("%d bytes are counted, of ada's %d", l.held.Used(), l.held.Of("ada"))
	}
	long := add("eve", 100, 4_000, 10<<10)
	if records, err := memory.Read(t.Context(), long.key, 0, 10_000); err != nil || len(records) == 0 || len(records) > maxLoggedCount+maxLoggedCount/2 {
		t.Errorf("a long stream has %d records, %v", len(records), err)
	} else {
		size := 0
		for _, r := range records {
			size += len(r.Value)
		}
		if size > 2*maxLoggedStream {
			t.Errorf("a long stream has %d bytes", size)
		}
	}
}

// TestFollowedStreamsAreShared has one caller resume a stream at another replica many times, and then
// another caller theirs.
func TestFollowedStreamsAreShared(t *testing.T) {
	f := newFixture(t)
	all, _ := newLogged(t, 2, f.Server)
	begin := func(user string) (session []string, last string) {
		t.Helper()
		session = []string{"X-User", user, "MCP-Protocol-Version", polling}
		resp := all[0].do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{}}}`, polling), session...)
		session = append(session, "Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id"))
		seen := make(chan struct{})
		go func() {
			for { // any running call may take one
				select {
				case f.steps <- "one":
				case <-seen:
					return
				}
			}
		}()
		e := all[0].events(all[0].do("POST", callTool(1, "steps", "{}"), session...))
		e.want("one")
		close(seen)
		all[0].written()
		return session, e.last
	}
	resume := func(session []string, last string) int {
		return all[1].do("GET", "", append(session, "Last-Event-ID", last)...).StatusCode
	}
	eves, of := begin("eve")
	n := 0
	for ; n < maxFollowed && resume(eves, of) == http.StatusOK; n++ {
	}
	if n != share.Share(maxFollowed) {
		t.Errorf("one caller follows %d streams of %d", n, maxFollowed)
	}
	if got := resume(begin("ada")); got != http.StatusOK {
		t.Errorf("another caller: status %d", got)
	}
}

// TestAResponseThatIsTooLargeIsAnError keeps a response that does not fit.
func TestAResponseThatIsTooLargeIsAnError(t *testing.T) {
	memory := state.NewMemory(0)
	l, err := NewEventLog(&replicaLog{Log: memory, name: "a", runs: func(string) bool { return true }}, oneKey, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	st := &loggedStream{key: logKey(sharedKey{1}, 1), ids: []jsonrpc.ID{`"x"`}}
	l.add(st, 1, []byte(`{}`), false)
	l.add(st, 2, make([]byte, maxLoggedStream), false)
	l.add(st, 3, make([]byte, maxLoggedStream), true)
	l.settle(t.Context())
	f := &follower{log: l, key: st.key, stream: 1}
	events, err := f.read(t.Context())
	if err != nil || len(events) != 2 || events[1].Number != 3 || !strings.HasPrefix(string(events[1].Data), `{"jsonrpc":"2.0","id":"x","error":`) || !f.newest.final {
		t.Errorf("%v, %v", events, err)
	}
}

// FuzzLogRecord opens what no replica wrote.
func FuzzLogRecord(f *testing.F) {
	l := &EventLog{}
	l.ring, _ = seal.NewRing(oneKey)
	r := logRecord{final: true, batch: true, replica: "a", ids: []jsonrpc.ID{"1", `"b"`}, encoded: appendField([]byte{1}, []byte("{}"))}
	sealed, err := l.ring.Open(string(l.seal("k", &r)), []byte("k"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte{logVersion, 7, 0, 0, 0xff})
	f.Fuzz(func(t *testing.T, plain []byte) {
		r, err := l.open("k", []byte(l.ring.Seal(plain, []byte("k"))))
		if err != nil {
			return
		}
		events, err := r.events(1, 0)
		if err != nil {
			return
		}
		for i, e := range events {
			if i > 0 && e.Number <= events[i-1].Number {
				t.Errorf("numbers %d, %d", events[i-1].Number, e.Number)
			}
		}
		again, err := l.open("k", l.seal("k", r))
		if err != nil || again.replica != r.replica || len(again.ids) != len(r.ids) || again.final != r.final {
			t.Errorf("%+v, then %+v, %v", r, again, err)
		}
	})
}
