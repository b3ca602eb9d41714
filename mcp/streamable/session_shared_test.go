package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

var oneKey, otherKey = bytes.Repeat([]byte("1"), 32), bytes.Repeat([]byte("2"), 32)

// sharedOptions returns the options of a replica.
func sharedOptions(keys ...[]byte) Options {
	return Options{SharedSessions: "/mcp", ServeOptions: mcp.ServeOptions{StateKeys: keys}}
}

// A rotation is a balancer that never chooses the same replica twice in a row.
type rotation struct {
	replicas []http.Handler
	next     atomic.Int64
	refused  atomic.Int64 // responses with a status from 400 on
}

func (b *rotation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	replica := b.replicas[int(b.next.Add(1))%len(b.replicas)]
	replica.ServeHTTP(&watchedStatus{w, b}, r)
}

type watchedStatus struct {
	http.ResponseWriter
	of *rotation
}

func (w *watchedStatus) WriteHeader(status int) {
	if status >= 400 && status != http.StatusMethodNotAllowed {
		w.of.refused.Add(1)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedStatus) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestAnyReplicaServesSharedSessions(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			b := &rotation{}
			for range 3 {
				e := HandlerWith(newFixture(t).Server, sharedOptions(oneKey))
				t.Cleanup(e.Close)
				b.replicas = append(b.replicas, e)
			}
			server := httptest.NewServer(b)
			t.Cleanup(server.Close)
			const clients, calls = 8, 125
			var running sync.WaitGroup
			for i := range clients {
				running.Go(func() {
					c, err := mcp.DialWith(t.Context(), Client(server.URL), mcp.ClientOptions{Revision: revision, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "decline"}, nil
					}})
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					for j := range calls {
						want := fmt.Sprint(i, " ", j)
						if got, err := c.CallTool(t.Context(), "echo", map[string]any{"text": want}); err != nil || got.Text() != want {
							t.Errorf("call %s: %v, %v", want, got, err)
							return
						}
					}
				})
			}
			running.Wait()
			if n := b.refused.Load(); n > 0 {
				t.Errorf("%d requests were refused", n)
			}
		})
	}
}

// ping returns the status of a ping in a session.
func (s *site) ping(id string, header ...string) int {
	s.t.Helper()
	resp := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, append(header, "Mcp-Session-Id", id)...)
	s.read(resp)
	return resp.StatusCode
}

func TestSharedIDsOfOthersAreUnknown(t *testing.T) {
	f := newFixture(t)
	asUser := func(o Options) Options {
		o.Principal = func(r *http.Request) (*mcp.Principal, error) {
			return &mcp.Principal{Issuer: "i", Subject: r.Header.Get("X-User"), ClientID: r.Header.Get("X-Client")}, nil
		}
		return o
	}
	made := newSite(t, f.Server, asUser(sharedOptions(oneKey)))
	resp := made.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "X-User", "ada", "X-Client", "a")
	id := resp.Header.Get("Mcp-Session-Id")
	elsewhere := sharedOptions(oneKey)
	elsewhere.SharedSessions = "/mcp/team"
	unshared := sharedOptions(oneKey)
	unshared.SharedSessions = ""
	anonymous := sharedOptions(oneKey)
	for _, tt := range []struct {
		name   string
		o      Options
		id     string
		user   string
		client string
		want   int
	}{
		{"at another replica", asUser(sharedOptions(oneKey)), id, "ada", "a", 200},
		{"with its key as the second", asUser(sharedOptions(otherKey, oneKey)), id, "ada", "a", 200},
		{"with its key gone", asUser(sharedOptions(otherKey)), id, "ada", "a", 404},
		{"of another user", asUser(sharedOptions(oneKey)), id, "eve", "a", 404},
		{"of another client of the user", asUser(sharedOptions(oneKey)), id, "ada", "b", 404},
		{"without a user", anonymous, id, "", "", 404},
		{"at another endpoint", asUser(elsewhere), id, "ada", "a", 404},
		{"where sessions are not shared", asUser(unshared), id, "ada", "a", 404},
		{"cut off", asUser(sharedOptions(oneKey)), id[:len(id)-1], "ada", "a", 404},
		{"longer", asUser(sharedOptions(oneKey)), id + "A", "ada", "a", 404},
		{"changed", asUser(sharedOptions(oneKey)), "AQ" + strings.Repeat("A", len(id)-2), "ada", "a", 404},
		{"too long", asUser(sharedOptions(oneKey)), strings.Repeat("A", maxSharedID+4), "ada", "a", 404},
		{"made up", asUser(sharedOptions(oneKey)), "abc", "ada", "a", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, f.Server, tt.o)
			if got := s.ping(tt.id, "X-User", tt.user, "X-Client", tt.client); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
	if got := made.ping(id, "X-User", "ada", "X-Client", "a"); got != 200 {
		t.Errorf("the owner where it began: status %d", got)
	}
	if got := made.ping(id, "X-User", "eve", "X-Client", "a"); got != 404 { // it is in the table now
		t.Errorf("another user where it is known: status %d", got)
	}
}

func TestSharedIDsAreVisibleASCII(t *testing.T) {
	s := newSite(t, newFixture(t).Server, sharedOptions(oneKey))
	long := strings.Repeat("<\u2028ä\x00", 500)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":{"y":%[1]q}},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":%[1]q,"title":%[1]q,"version":%[1]q}}}`, strings.ReplaceAll(long, "\x00", ""))
	resp := s.do("POST", strings.ReplaceAll(body, `\u2028`, "\u2028"))
	id := resp.Header.Get("Mcp-Session-Id")
	if len(id) == 0 || len(id) > maxSharedID || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		t.Errorf("%d characters: %s; %s", len(id), id, s.read(resp))
	}
	if got := s.ping(id); got != 200 {
		t.Errorf("its session: status %d", got)
	}
}

func TestSharedSessionsEnd(t *testing.T) {
	t.Run("with DELETE, where that came", func(t *testing.T) {
		s := newSite(t, newFixture(t).Server, sharedOptions(oneKey))
		id := s.handshake("2025-11-25")
		if resp := s.do("DELETE", "", "Mcp-Session-Id", id); resp.StatusCode != 204 {
			t.Errorf("DELETE: status %d", resp.StatusCode)
		}
		if got := s.ping(id); got != 404 {
			t.Errorf("after DELETE: status %d", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := HandlerWith(newFixture(t).Server, sharedOptions(oneKey))
		defer e.Close()
		post := func(body, id string) *httptest.ResponseRecorder { return postTo(e, body, id) }
		id := post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "").Header().Get("Mcp-Session-Id")
		for _, after := range []time.Duration{0, defaultSessionTimeout + time.Minute, defaultSharedTimeout - 2*time.Hour} { // it is no matter how long it was idle
			time.Sleep(after)
			if w := post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, id); w.Code != 200 {
				t.Errorf("after %v: status %d: %s", after, w.Code, w.Body)
			}
		}
		time.Sleep(2 * time.Hour)
		if w := post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, id); w.Code != 404 {
			t.Errorf("after its end: status %d", w.Code)
		}
	})
}

// TestWhatStaysAtTheReplica covers what another replica cannot take over.
func TestWhatStaysAtTheReplica(t *testing.T) {
	f := newFixture(t)
	here, there := newSite(t, f.Server, sharedOptions(oneKey)), newSite(t, f.Server, sharedOptions(oneKey))
	id := here.handshake("2025-11-25")
	session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}

	asks := here.events(here.do("POST", callTool(1, "ask", `{}`), session...))
	asked, err := asks.next()
	if err != nil {
		t.Fatal(err)
	}
	other := there.events(there.do("POST", callTool(2, "ask", `{}`), session...))
	askedThere, err := other.next()
	if err != nil {
		t.Fatal(err)
	}
	idOf := func(message string) string {
		_, after, _ := strings.Cut(message, `"id":"`)
		id, _, _ := strings.Cut(after, `"`)
		return id
	}
	if idOf(asked) == idOf(askedThere) {
		t.Fatalf("two replicas ask with the same id: %s", asked)
	}
	answer := func(message, name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"name":%q}}}`, idOf(message), name)
	}
	if resp := there.do("POST", answer(asked, "ada"), session...); resp.StatusCode != 400 || !strings.Contains(there.read(resp), "another replica") {
		t.Errorf("a response at another replica: status %d", resp.StatusCode)
	}
	if resp := here.do("POST", answer(asked, "ada"), session...); resp.StatusCode != 202 {
		t.Errorf("a response where it belongs: status %d", resp.StatusCode)
	}
	asks.want(`"ada"`)
	if resp := there.do("POST", answer(askedThere, "bob"), session...); resp.StatusCode != 202 {
		t.Errorf("the other response: status %d", resp.StatusCode)
	}
	other.want(`"bob"`)

	resp := there.do("GET", "", append(session, "Last-Event-ID", asks.last)...)
	if resp.StatusCode != 400 {
		t.Errorf("a stream resumed at another replica: status %d", resp.StatusCode)
	}
	here.events(here.do("GET", "", append(session, "Last-Event-ID", strings.Replace(asks.last, "-2", "-1", 1))...)).want("result")
}

// postTo sends a POST to an endpoint without a connection. id is the session, or "".
func postTo(e *Endpoint, body, id string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		r.Header.Set("Mcp-Session-Id", id)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// Many idle sessions take less than 400 kB of a replica's memory.
func TestIdleSharedSessionsTakeLittleMemory(t *testing.T) {
	if testing.Short() || threadtime.Slowdown > 2 { // with the race detector it measures its memory too
		t.Skip("opens 20,000 sessions, to measure the heap")
	}
	e := HandlerWith(newFixture(t).Server, sharedOptions(oneKey))
	t.Cleanup(e.Close)
	use := func(i int) {
		w := postTo(e, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"client %d of a common size","title":"A client","version":"1.2.3"}}}`, capabilities, i), "")
		if w := postTo(e, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, w.Header().Get("Mcp-Session-Id")); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	use(0)
	before := heap()
	for i := range 20_000 {
		use(i)
	}
	if grown := heap() - before; grown > 400_000 {
		t.Errorf("the heap grew by %d bytes", grown)
	} else {
		t.Logf("the heap grew by %d bytes", grown)
	}
}

// TestIdleSharedSessionsAreNotKept begins many sessions and uses each once.
func TestIdleSharedSessionsAreNotKept(t *testing.T) {
	e := HandlerWith(newFixture(t).Server, sharedOptions(oneKey))
	t.Cleanup(e.Close)
	post := func(body, id string) *httptest.ResponseRecorder { return postTo(e, body, id) }
	begin := func() string {
		return post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "").Header().Get("Mcp-Session-Id")
	}
	leveled := begin()
	if w := post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`, leveled); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	for range 3 * maxRecentSessions {
		if w := post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, begin()); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	if n := len(e.sessions.byID); n != maxRecentSessions+1 {
		t.Errorf("%d sessions are kept, want the recent ones and the one with a log level", n)
	}
	if e.sessions.find(leveled, nil) == nil {
		t.Error("the session with a log level was dropped")
	}
}

func FuzzSharedID(f *testing.F) {
	e := HandlerWith(mcp.NewServer("s", "1"), sharedOptions(oneKey))
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	id := w.Header().Get("Mcp-Session-Id")
	plain, err := e.sharing.ring.Open(id, e.sharing.context(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id, plain)
	f.Add("", []byte{})
	f.Add(id[:20], plain[:30])
	other := HandlerWith(mcp.NewServer("s", "1"), sharedOptions()) // its key is of this process
	f.Fuzz(func(t *testing.T, text string, plain []byte) {
		if _, valid := other.sharing.open(text, nil, time.Now()); valid {
			t.Errorf("%q is valid", text)
		}
		if c, valid := parseShared(plain); valid { // sealed by a version with errors
			if s, err := e.edge.Recall(t.Context(), c.session, edge.From{Key: c.key}, "x."); err == nil {
				s.Close()
			}
		}
	})
}

// BenchmarkSharedCall measures a call over HTTP in a session of this process, in a shared one, and
// in a shared one that is made again each time.
func BenchmarkSharedCall(b *testing.B) {
	f := newFixture(&testing.T{})
	for _, mode := range []struct {
		name string
		o    Options
		cold bool
	}{{"memory", Options{}, false}, {"shared", sharedOptions(oneKey), false}, {"shared and forgotten", sharedOptions(oneKey), true}} {
		b.Run(mode.name, func(b *testing.B) {
			e := HandlerWith(f.Server, mode.o)
			defer e.Close()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if e.ServeHTTP(w, r); mode.cold {
					e.sessions.forgetRecent()
				}
			}))
			defer server.Close()
			id := ""
			post := func(body string) { // without a GET, whose stream would keep the session
				r, _ := http.NewRequest("POST", server.URL, strings.NewReader(body)) // the URL is valid
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
				if id != "" {
					r.Header["Mcp-Session-Id"] = []string{id}
				}
				resp, err := server.Client().Do(r)
				if err != nil {
					b.Fatal(err)
				}
				defer resp.Body.Close()
				if answer, _ := io.ReadAll(resp.Body); !bytes.Contains(answer, []byte("result")) {
					b.Fatal(string(answer))
				}
				if id == "" {
					id = resp.Header.Get("Mcp-Session-Id")
				}
			}
			post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"bench","version":"1"}}}`)
			b.ReportAllocs()
			for b.Loop() {
				post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"the text to echo"}}}`)
			}
		})
	}
}

// forgetRecent drops the shared sessions that hold nothing.
func (t *sessionTable) forgetRecent() {
	t.mu.Lock()
	var dropped []*session
	for i, s := range t.recent {
		if s == nil {
			continue
		}
		t.recent[i] = nil
		if s.spare.Store(true); t.dropSpare(s) {
			dropped = append(dropped, s)
		}
	}
	t.next = 0
	t.mu.Unlock()
	for _, s := range dropped {
		s.end(errSpared)
	}
}
