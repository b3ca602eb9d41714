package main

import (
	"bytes"
	"context"
	dbsql "database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/sql"
	"github.com/junction-mcp/junction/state"
)

// A budget is of what callers of the process hold, by its uses of internal/share. worst has a caller take all of it that it can, and
// returns what another one does then; nil: a test of its package, which is named, does the same with what cannot be reached from here.
type budget struct {
	uses  []string
	worst func(s *stage) (another func(ctx context.Context) error)
	shown string
}

// budgets are all of them: a test of internal/archtest finds uses that have no row.
var budgets = []budget{
	{uses: []string{"mcp/streamable: share.New(o.MaxSessions)"}, worst: takeSessions},
	{uses: []string{"mcp/streamable: share.New(o.MaxStreams)"}, worst: takeStreams},
	{uses: []string{"mcp/httpsse: share.New(o.MaxConnections)"}, worst: takeConnections},
	{uses: []string{"mcp/internal/httpedge: share.Bytes(max(maxAllBodyBytes, b.Max+1))"}, worst: takeBodies},
	{uses: []string{"mcp/internal/edge: share.Bytes(maxMessagesHeld)"}, worst: takeMessages},
	{uses: []string{"mcp/internal/edge: share.Bytes(maxSessionsHeld)"}, worst: takeDescriptions},
	{uses: []string{"mcp/internal/upstream: share.New(maxCalls)"}, worst: takeRequests},
	{uses: []string{"mcp/internal/upstream: share.New(maxListens)"}, worst: takeListens},
	{uses: []string{"mcp/stream: share.New(MaxConnections)"}, worst: takeListener},
	{uses: []string{"mcp/tasks: share.New(o.MaxRunning)"}, worst: takeTasks},
	{uses: []string{"gateway: share.Reserve(limit)"}, worst: takeInstances},
	{uses: []string{"authserver: share.New(maxReading)"}, worst: takeDocuments},
	{uses: []string{"servers/sql: share.NewTurns(maxSessions)"}, worst: takeStatements},
	{uses: []string{"servers/httptool: share.NewTurns(maxAtOnce)"}, worst: takeAPI},
	{uses: []string{"console: share.New(maxGuests)", "console: share.New(maxMembers)"}, worst: takeConsole},
	{uses: []string{"mcp/streamable: share.NewHeld()"}, worst: takeEvents},
	{uses: []string{"gateway/results: share.NewHeld()"}, worst: takeResults},
	{uses: []string{"audit: share.New(maxFolds)", "audit: share.Reserve(int(f.most))"}, worst: takeLines},

	{uses: []string{"authserver: share.Each(maxWaiting, maxWaitingFrom)", "authserver: share.NewTurns(maxHashing)", "authserver: share.NewTurns(maxHashing - 1)"}, shown: "authserver.TestGuessersKeepNoUserOut"},
	{uses: []string{"authserver: share.NewTurns(maxCheckedLogouts)"}, shown: "authserver.TestManyLogoutsAtOnceAreServed"},
	{uses: []string{"mcp/internal/upstream: share.New(maxParked)", "mcp/internal/upstream: share.Bytes(maxParkedBytes)"}, shown: "mcp/internal/upstream.TestParkedCallsAreShared"},
	{uses: []string{"mcp/internal/upstream: share.Bytes(maxAllEventBytes)", "mcp/internal/upstream: share.New(maxRepeating)"}, shown: "mcp/internal/upstream.TestWaitingRequestsAreShared"},
	{uses: []string{"mcp/internal/upstream: share.New(maxWatched)"}, shown: "mcp/internal/upstream.TestTasksThatAreWatchedAreShared"},
	{uses: []string{"state: share.NewHeld()"}, shown: "mcp/tasks.TestResultsAreShared"},
	{uses: []string{"mcp/auth: share.NewTurns(maxAsked)"}, shown: "mcp/auth.TestIntrospectionIsShared"},
	{uses: []string{"mcp/internal/edge: share.New(maxBound)"}, shown: "mcp/internal/edge.TestBoundRoundsAreShared"},
	{uses: []string{"mcp/streamable: share.New(maxPassed)"}, shown: "mcp/streamable.TestOneClientKeepsPeersFewRequestsBusy"},
	{uses: []string{"mcp/streamable: share.New(maxFollowed)"}, shown: "mcp/streamable.TestFollowedStreamsAreShared"},
	{uses: []string{"mcp/auth: share.New(maxAllProofs)"}, shown: "mcp/auth.TestProofsAreShared"},
	{uses: []string{"cmd/junction/internal/up: share.New(min(max(files/4, minConnections), maxGuests))", "cmd/junction/internal/up: share.New(min(max(files/2, minConnections), maxMembers))"}, shown: "cmd/junction/internal/up.TestConnectionsAreShared"},
	{uses: []string{"gateway/approvals: share.Each(maxWaiting, maxWaitingOfOne)"}, shown: "gateway/approvals.TestWaitingCallsAreFew"},
	{uses: []string{"cmd/junction/internal/up: share.NewTurns(1)"}, shown: "cmd/junction.TestReadersOfTheLogTakeTurns"},
}

// Whatever one caller takes, with credentials or without, another one is served within servedTime.
func TestOneCallerKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	const servedTime = 8 * time.Second // on a busy machine, too
	for _, b := range budgets {
		if b.worst == nil {
			continue
		}
		for name, by := range map[string][2]caller{
			"principal": {{"eve", "192.0.2.1:1"}, {"ada", "192.0.2.1:1"}},
			"address":   {{"", "192.0.2.1:1"}, {"", "192.0.2.2:1"}},
		} {
			t.Run(strings.NewReplacer("/", " ", ":", "").Replace(b.uses[0])+" by "+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := &stage{T: t, ctx: ctx, eve: by[0], ada: by[1]}
				t.Cleanup(s.held.Wait)
				t.Cleanup(cancel)
				another := b.worst(s)
				ctx, end := context.WithTimeout(t.Context(), servedTime)
				defer end()
				if err := another(ctx); err != nil {
					t.Errorf("another caller is not served: %v", err)
				}
			})
		}
	}
}

// A caller has credentials, or none.
type caller struct{ user, address string }

func (c caller) principal() *mcp.Principal {
	if c.user == "" {
		return nil
	}
	return &mcp.Principal{Issuer: "i", Subject: c.user}
}

// with is what the context of a request of the caller says.
func (c caller) with(ctx context.Context) context.Context {
	return share.With(ctx, share.Key("i", c.user, c.address))
}

// RoundTrip implements [http.RoundTripper] for the requests of the caller to a server of [stage.serve].
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Address", c.address)
	r.Header.Set("X-User", c.user)
	return http.DefaultTransport.RoundTrip(r)
}

// A stage is where eve takes all that she can. What she holds ends with ctx.
type stage struct {
	*testing.T
	ctx      context.Context
	held     sync.WaitGroup
	eve, ada caller
}

// principal is that of a request of a caller.
func principal(r *http.Request) (*mcp.Principal, error) {
	return caller{user: r.Header.Get("X-User")}.principal(), nil
}

var silent = slog.New(slog.DiscardHandler)

// serve serves requests of callers, and returns the URL.
func (s *stage) serve(h http.Handler) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = r.Header.Get("X-Address")
		h.ServeHTTP(w, r)
	}))
	s.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// mcp serves an MCP server to callers.
func (s *stage) mcp(h mcp.Handler, o streamable.Options) string {
	o.Principal, o.Logger = principal, silent
	e := streamable.HandlerWith(h, o)
	s.Cleanup(e.Close)
	return s.serve(e)
}

// dial is a caller's client of a server.
func (s *stage) dial(url string, by caller) *mcp.Client {
	c, err := mcp.Dial(s.Context(), streamable.ClientWith(url, streamable.ClientOptions{HTTP: &http.Client{Transport: by}, Logger: silent}))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	return c
}

// take has eve begin things until no more can be: begin reports whether one was refused.
func (s *stage) take(most int, begin func(n int) (refused bool)) {
	for n := range most {
		if begin(n) {
			return
		}
	}
	s.Fatalf("eve has %d, and is refused nothing", most)
}

// call has a caller use a tool.
func call(ctx context.Context, c *mcp.Client, tool string, arguments any) error {
	result, err := c.CallTool(ctx, tool, arguments)
	if err == nil && result.IsError {
		err = errors.New(result.Text())
	}
	return err
}

// newTools is a server with the tools wait, which waits for the end of its call, and echo.
func newTools() *mcp.Server {
	server := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: silent})
	type in struct {
		Text string `json:"text,omitempty"`
	}
	mcp.AddTool(server, "wait", func(ctx context.Context, _ in) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) })
	mcp.AddTool(server, "echo", func(context.Context, in) (string, error) { return "done", nil })
	return server
}

// fillUp has calls run, each in a goroutine of eve's, until one that would end at once is refused.
func (s *stage) fillUp(begin func(ctx context.Context), refused func(ctx context.Context) bool, atOnce int) {
	s.take(600, func(int) bool {
		for range atOnce {
			s.held.Go(func() { begin(s.ctx) })
		}
		time.Sleep(10 * time.Millisecond)
		return refused(s.ctx)
	})
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"experimental":{"x":{"pad":"%s"}}}}}`

// post sends a message, and returns the response where it is no error.
func (s *stage) post(ctx context.Context, by caller, url, message string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := by.RoundTrip(r)
	if err == nil && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		err = fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return response, err
}

// begin begins a session with a description of some bytes.
func (s *stage) begin(ctx context.Context, by caller, url string, pad int) error {
	response, err := s.post(ctx, by, url, fmt.Sprintf(initialize, strings.Repeat("x", pad)))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Contains(text, []byte(`"result"`)) {
		err = fmt.Errorf("%.300s", text)
	}
	return err
}

func takeSessions(s *stage) func(context.Context) error {
	url := s.mcp(newTools(), streamable.Options{MaxSessions: 40})
	s.take(80, func(int) bool { return s.begin(s.ctx, s.eve, url, 0) != nil })
	return func(ctx context.Context) error { return s.begin(ctx, s.ada, url, 0) }
}

func takeDescriptions(s *stage) func(context.Context) error {
	url := s.mcp(newTools(), streamable.Options{})
	s.take(2_000, func(int) bool { return s.begin(s.ctx, s.eve, url, 15<<10) != nil })
	return func(ctx context.Context) error { return s.begin(ctx, s.ada, url, 4<<10) }
}

func takeStreams(s *stage) func(context.Context) error {
	url := s.mcp(newTools(), streamable.Options{MaxStreams: 40})
	listen := func(by caller) error {
		response, err := s.post(s.ctx, by, url, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		if err == nil {
			s.Cleanup(func() { response.Body.Close() })
		}
		return err
	}
	s.take(80, func(int) bool { return listen(s.eve) != nil })
	return func(context.Context) error { return listen(s.ada) }
}

func takeConnections(s *stage) func(context.Context) error {
	e := httpsse.HandlerWith(newTools(), httpsse.Options{MaxConnections: 40, Principal: principal, ServeOptions: mcp.ServeOptions{Logger: silent}})
	url := s.serve(e)
	connect := func(by caller) error {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Accept", "text/event-stream")
		response, err := by.RoundTrip(r)
		if err != nil {
			return err
		}
		s.Cleanup(func() { response.Body.Close() })
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
	s.take(80, func(int) bool { return connect(s.eve) != nil })
	return func(context.Context) error { return connect(s.ada) }
}

func takeBodies(s *stage) func(context.Context) error {
	url := s.mcp(newTools(), streamable.Options{})
	eve, ada := s.dial(url, s.eve), s.dial(url, s.ada)
	text := map[string]any{"text": strings.Repeat("x", 1<<20)}
	s.fillUp(func(ctx context.Context) {
		in, out := io.Pipe()
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, in)
		r.ContentLength = 1 << 20
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		context.AfterFunc(ctx, func() { in.Close() })
		go func() { _, _ = out.Write(make([]byte, 1<<20-1)) }()
		if response, err := s.eve.RoundTrip(r); err == nil {
			response.Body.Close()
		}
		in.Close()
	}, func(ctx context.Context) bool { return call(ctx, eve, "echo", text) != nil }, 4)
	return func(ctx context.Context) error {
		return call(ctx, ada, "echo", map[string]any{"text": strings.Repeat("x", 100<<10)})
	}
}

func takeMessages(s *stage) func(context.Context) error {
	url := s.mcp(newTools(), streamable.Options{})
	eve, ada := s.dial(url, s.eve), s.dial(url, s.ada)
	text := map[string]any{"text": strings.Repeat("x", 4<<20)}
	s.fillUp(func(ctx context.Context) { _ = call(ctx, eve, "wait", text) }, func(ctx context.Context) bool { return call(ctx, eve, "echo", text) != nil }, 1)
	return func(ctx context.Context) error {
		return call(ctx, ada, "echo", map[string]any{"text": strings.Repeat("x", 1<<20)})
	}
}

// newShared is a client that callers share, as a gateway has one of each server.
func (s *stage) newShared() *mcp.Client {
	c, err := mcp.Dial(s.Context(), stream.PipeWith(newTools(), mcp.ServeOptions{MaxInFlight: 20_000, Logger: silent}))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	return c
}

func takeRequests(s *stage) func(context.Context) error {
	c := s.newShared()
	s.fillUp(func(ctx context.Context) { _ = call(s.eve.with(ctx), c, "wait", map[string]any{}) },
		func(ctx context.Context) bool { return call(s.eve.with(ctx), c, "echo", map[string]any{}) != nil }, 100)
	return func(ctx context.Context) error { return call(s.ada.with(ctx), c, "echo", map[string]any{}) }
}

func takeListens(s *stage) func(context.Context) error {
	c := s.newShared()
	listen := func(ctx context.Context, by caller) error {
		agreed, ended := make(chan struct{}, 1), make(chan error, 1)
		s.held.Go(func() {
			ended <- c.ListenWith(by.with(s.ctx), mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) {}, func(mcp.SubscriptionFilter) { agreed <- struct{}{} })
		})
		select {
		case <-agreed:
			return nil
		case err := <-ended:
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.take(3_000, func(int) bool { return listen(s.ctx, s.eve) != nil })
	return func(ctx context.Context) error { return listen(ctx, s.ada) }
}

// A pipeConn is a connection in memory, of an address.
type pipeConn struct {
	net.Conn
	from string
}

func (c pipeConn) RemoteAddr() net.Addr { return (&clitest.TestConn{From: c.from}).RemoteAddr() }

func takeListener(s *stage) func(context.Context) error {
	if s.eve.user != "" {
		s.Skip("the clients of a socket have no credentials")
	}
	l := clitest.PipeListener{Conns: make(chan net.Conn)}
	l.Closed, l.End = context.WithCancel(s.ctx)
	s.held.Go(func() {
		_ = stream.ServeWith(s.ctx, l, newTools(), mcp.ServeOptions{Logger: silent, DrainTimeout: time.Millisecond})
	})
	connect := func(by caller) error {
		here, there := net.Pipe()
		l.Conns <- pipeConn{there, by.address}
		s.Cleanup(func() { here.Close() })
		if _, err := fmt.Fprintf(here, initialize+"\n", ""); err != nil {
			return err
		}
		answer := make([]byte, 4<<10)
		n, err := here.Read(answer)
		if err == nil && !bytes.Contains(answer[:n], []byte(`"result"`)) {
			err = fmt.Errorf("%s", answer[:n])
		}
		return err
	}
	s.take(2*stream.MaxConnections, func(int) bool { return connect(s.eve) != nil })
	return func(context.Context) error { return connect(s.ada) }
}

func takeTasks(s *stage) func(context.Context) error {
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"*": {}}, MaxRunning: 100})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { long.Close() })
	h := long.Middleware()(newTools())
	begin := func(ctx context.Context, by caller) error {
		req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
		req.Principal = by.principal()
		knows := tasks.Capabilities()
		req.Meta.Capabilities = &knows
		_, err := h.Handle(by.with(ctx), req)
		return err
	}
	s.take(200, func(int) bool { return begin(s.ctx, s.eve) != nil })
	return func(ctx context.Context) error { return begin(ctx, s.ada) }
}

func takeInstances(s *stage) func(context.Context) error {
	g := gateway.New(gateway.Options{Logger: silent})
	s.Cleanup(func() { g.Close() })
	err := g.Add("s", gateway.Upstream{Isolation: gateway.PerClient, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		return mcp.Dial(ctx, stream.Pipe(newTools()))
	}})
	if err == nil {
		err = g.Settle(s.ctx)
	}
	if err != nil {
		s.Fatal(err)
	}
	use := func(ctx context.Context, by caller, tool string, session int) error {
		req := mcp.NewRequest("tools/call", []byte(`{"name":"s__`+tool+`","arguments":{}}`))
		req.Principal, req.Caller, req.Meta.Capabilities = by.principal(), fmt.Sprint(by, session), &mcp.ClientCapabilities{}
		_, err := g.Handle(by.with(ctx), req)
		return err
	}
	s.take(40, func(n int) bool {
		s.held.Go(func() { _ = use(s.ctx, s.eve, "wait", n) })
		time.Sleep(20 * time.Millisecond)
		return use(s.ctx, s.eve, "echo", 100+n) != nil
	})
	return func(ctx context.Context) error { return use(ctx, s.ada, "echo", 0) }
}

// takeConsole has ada open the console while eve holds many connections, and opens more.
func takeConsole(s *stage) func(context.Context) error {
	if s.eve.user != "" {
		s.Skip("the console has one user")
	}
	l := clitest.PipeListener{Conns: make(chan net.Conn)}
	l.Closed, l.End = context.WithCancel(s.ctx)
	c := console.New()
	s.held.Go(func() { _ = c.Serve(s.ctx, l, log.New(io.Discard, "", 0)) })
	connect := func(ctx context.Context, by caller) (net.Conn, error) {
		here, there := net.Pipe()
		s.Cleanup(func() { here.Close() })
		select {
		case l.Conns <- pipeConn{there, by.address}:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for range 400 {
		s.held.Go(func() { _, _ = connect(s.ctx, s.eve) })
	}
	time.Sleep(100 * time.Millisecond)
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Link("http://127.0.0.1", ""), nil)
		if err != nil {
			return err
		}
		response, err := (&http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, s.ada) }}).RoundTrip(r)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}

// takeEvents has ada come back for the events of a call, which eve's events must not have pushed out.
func takeEvents(s *stage) func(context.Context) error {
	server := newTools()
	mcp.AddTool(server, "tell", func(ctx context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return "", mcp.Progress(ctx, 1, 2, in.Text)
	})
	url := s.mcp(server, streamable.Options{EventStore: &streamable.MemoryEvents{MaxBytes: 200 << 10}})
	tell := func(by caller, text string) (session string) {
		response, err := s.post(s.ctx, by, url, fmt.Sprintf(initialize, ""))
		if err != nil {
			s.Fatal(err)
		}
		response.Body.Close()
		session = response.Header.Get("Mcp-Session-Id")
		for range 10 {
			response, err = s.post(s.ctx, by, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tell","arguments":{"text":%q},"_meta":{"progressToken":1}}}`, text),
				"MCP-Protocol-Version", "2025-11-25", "Mcp-Session-Id", session)
			if err != nil {
				s.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		return session
	}
	hers := tell(s.ada, "her text")
	for range 10 {
		tell(s.eve, strings.Repeat("x", 10<<10))
	}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {hers}, "Mcp-Protocol-Version": {"2025-11-25"}, "Last-Event-Id": {"p1-0"}}
		response, err := s.ada.RoundTrip(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && !bytes.Contains(text, []byte("her text")) {
			err = fmt.Errorf("%s: %s", response.Status, text)
		}
		return err
	}
}

// takeResults has ada read a long result, which eve's results must not have pushed out.
func takeResults(s *stage) func(context.Context) error {
	server := mcp.NewServer("s", "1")
	mcp.AddTool(server, "long", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 10<<10), nil })
	h := results.Middleware(results.Options{Server: "s", Max: 100, Store: results.NewStore(200 << 10)})(server)
	ask := func(ctx context.Context, by caller, method, params string) (mcp.Result, error) {
		req := mcp.NewRequest(method, json.RawMessage(params))
		req.Principal = by.principal()
		return h.Handle(by.with(ctx), req)
	}
	keep := func(ctx context.Context, by caller) (uri string, err error) {
		result, err := ask(ctx, by, "tools/call", `{"name":"long","arguments":{}}`)
		if err != nil {
			return "", err
		}
		_, rest, _ := strings.Cut(string(result.JSON), `"uri":"`)
		uri, _, _ = strings.Cut(rest, `"`)
		return uri, nil
	}
	hers, err := keep(s.ctx, s.ada)
	for range 100 {
		if err == nil {
			_, err = keep(s.ctx, s.eve)
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return func(ctx context.Context) error {
		another, err := keep(ctx, s.ada)
		for _, uri := range []string{hers, another} {
			if err == nil {
				_, err = ask(ctx, s.ada, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
			}
		}
		return err
	}
}

// takeLines has ada be refused, which the audit log must say although eve was refused for many things.
func takeLines(s *stage) func(context.Context) error {
	dir := s.TempDir()
	key, err := audit.ReadKey(filepath.Join(s.TempDir(), "key"))
	if err != nil {
		s.Fatal(err)
	}
	log, err := audit.Open(dir, audit.Options{Key: key, NoSync: true, Keep: 1_000_000, MaxFile: 100_000, Logger: silent})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { log.Close() })
	h := log.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
		note.Refuse(ctx, note.Limit, note.Refusal{Rule: "a rule", Refused: "no"})
		return mcp.Result{}, errors.New("refused")
	}))
	use := func(ctx context.Context, by caller, tool string) {
		req := mcp.NewRequest("tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q}`, tool)))
		req.Principal = by.principal()
		_, _ = h.Handle(by.with(ctx), req)
	}
	for n := range 2_000 {
		use(s.ctx, s.eve, fmt.Sprint("tool", n))
	}
	return func(ctx context.Context) error {
		use(ctx, s.ada, "hers")
		if err := log.Flush(); err != nil {
			return err
		}
		for _, err := range audit.Read(dir, audit.Filter{Name: "hers", Kind: audit.KindDecision}) {
			return err
		}
		return errors.New("the log does not have it")
	}
}

// A web answers requests for documents of clients: those of slow hosts when the stage ends.
type web struct{ s *stage }

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "slow") {
		select {
		case <-w.s.ctx.Done():
		case <-r.Context().Done():
		}
		return nil, errors.New("it is slow")
	}
	text := fmt.Sprintf(`{"client_id":%q,"client_name":"c","redirect_uris":["https://app.example/back"]}`, r.URL)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func takeDocuments(s *stage) func(context.Context) error {
	if s.eve.user != "" {
		s.Skip("documents are read before anybody logs in")
	}
	users, err := authserver.OpenUsers(filepath.Join(s.TempDir(), "users.json"))
	if err != nil {
		s.Fatal(err)
	}
	const issuer = "https://tools.example"
	server, err := authserver.New(authserver.Options{Issuer: issuer, Resource: issuer + "/mcp", Users: users, Store: state.NewMemory(0), Key: bytes.Repeat([]byte("k"), 32),
		Documents: &http.Client{Transport: web{s}}, Logger: silent})
	if err != nil {
		s.Fatal(err)
	}
	ask := func(ctx context.Context, by caller, document string) string {
		q := url.Values{"response_type": {"code"}, "client_id": {document}, "redirect_uri": {"https://app.example/back"}, "code_challenge": {strings.Repeat("x", 43)}, "code_challenge_method": {"S256"}}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, issuer+"/oauth/authorize?"+q.Encode(), nil)
		r.RemoteAddr = by.address
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Header().Get("Location")
	}
	for n := range 100 {
		s.held.Go(func() { ask(s.ctx, s.eve, fmt.Sprintf("https://slow%d.example/%d.json", n/4, n)) })
	}
	time.Sleep(100 * time.Millisecond)
	return func(ctx context.Context) error {
		if to := ask(ctx, s.ada, "https://app.example/client.json"); !strings.Contains(to, "/oauth/login") {
			return fmt.Errorf("the browser is sent to %q", to)
		}
		return nil
	}
}

func takeStatements(s *stage) func(context.Context) error {
	path := filepath.Join(s.TempDir(), "a.db")
	file, err := dbsql.Open("sqlite", path)
	if err == nil {
		_, err = file.Exec("CREATE TABLE fruit (id INTEGER)")
		file.Close()
	}
	if err != nil {
		s.Fatal(err)
	}
	d, err := sql.Open(s.Context(), sql.Options{DSN: "sqlite:" + path})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { d.Close() })
	url := s.mcp(d, streamable.Options{})
	eve, ada := s.dial(url, s.eve), s.dial(url, s.ada)
	for range 20 {
		s.held.Go(func() {
			_ = call(s.ctx, eve, "query", map[string]any{"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"})
		})
	}
	time.Sleep(300 * time.Millisecond)
	return func(ctx context.Context) error {
		return call(ctx, ada, "query", map[string]any{"sql": "SELECT count(*) FROM fruit"})
	}
}

func takeAPI(s *stage) func(context.Context) error {
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
	}))
	s.Cleanup(api.Close)
	server, err := httptool.New("api", httptool.Options{Base: api.URL, Logger: silent}, httptool.Template{Tool: mcp.Tool{Name: "slow"}, URL: "/slow"}, httptool.Template{Tool: mcp.Tool{Name: "fast"}, URL: "/fast"})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { server.Close() })
	url := s.mcp(server, streamable.Options{})
	eve, ada := s.dial(url, s.eve), s.dial(url, s.ada)
	for range 100 {
		s.held.Go(func() { _ = call(s.ctx, eve, "slow", map[string]any{}) })
	}
	time.Sleep(200 * time.Millisecond)
	return func(ctx context.Context) error { return call(ctx, ada, "fast", map[string]any{}) }
}
