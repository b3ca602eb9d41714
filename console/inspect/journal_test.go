package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/servers/everything"
)

func TestEventsAreResumedAndBounded(t *testing.T) {
	j := newJournal()
	for range maxEvents + 10 {
		j.add("step", step{})
	}
	events, gone, _, _ := j.after(0)
	if len(events) != maxEvents || gone != 10 || events[0].id != 11 {
		t.Errorf("after 0: %d events from %d on, %d are gone", len(events), events[0].id, gone)
	}
	events, gone, _, _ = j.after(maxEvents)
	if len(events) != 10 || gone != 0 || events[0].id != maxEvents+1 {
		t.Errorf("after %d: %d events, %d are gone", maxEvents, len(events), gone)
	}
	if events, gone, _, _ = j.after(maxEvents + 10); len(events) != 0 || gone != 0 {
		t.Errorf("after the last: %d events, %d are gone", len(events), gone)
	}
	if events, _, _, _ = j.after(1 << 40); len(events) != maxEvents {
		t.Errorf("after an event of another process: %d events", len(events))
	}
	large := strings.Repeat("x", 1<<20)
	for range 40 {
		j.add("stderr", line{Line: large})
	}
	if events, _, _, _ = j.after(0); j.bytes > maxEventBytes || len(events) < 14 {
		t.Errorf("%d events have %d bytes", len(events), j.bytes)
	}
	_, _, more, _ := j.after(j.lastID())
	j.end()
	<-more
	j.add("step", step{})
	if _, _, _, ended := j.after(j.lastID()); !ended || j.lastID() != maxEvents+50 {
		t.Errorf("the journal goes on to %d, ended %v", j.lastID(), ended)
	}
}

func TestALargeEventIsCopiedInParts(t *testing.T) {
	j := newJournal()
	large := strings.Repeat("x", 3<<20)
	j.add("stderr", line{Line: "first"})
	j.add("stderr", line{Line: large})
	j.add("stderr", line{Line: "last"})
	events, _, _, _ := j.after(0)
	var want strings.Builder
	for _, e := range events {
		fmt.Fprintf(&want, "event: stderr\nid: %d\ndata: %s\n\n", e.id, e.data)
	}
	f := &follower{journal: j}
	var got, text []byte
	for parts := 0; len(got) < want.Len() && parts < 100; parts++ {
		text, _, _ = f.next(text[:0])
		if len(text) == 0 || len(text) > follow.MaxPart+1000 {
			t.Fatalf("part %d has %d bytes", parts, len(text))
		}
		got = append(got, text...)
	}
	if string(got) != want.String() {
		t.Errorf("got %d bytes, want %d", len(got), want.Len())
	}
	if text, more, over := f.next(nil); len(text) > 0 || more == nil || over {
		t.Errorf("after all: %q, %v", text, over)
	}
	f = &follower{journal: j, last: 1}
	if _, more, over := f.next(nil); more != nil || over || len(f.rest) == 0 {
		t.Fatalf("%d bytes are left, %v", len(f.rest), over)
	}
	for range maxEvents {
		j.add("step", step{})
	}
	if text, _, over := f.next(nil); len(text) > 0 || !over {
		t.Errorf("of an event that is not kept there are %d bytes more, over %v", len(text), over)
	}
}

func TestAReaderGetsALargeEventAfterAGap(t *testing.T) {
	type line struct{ Line string }
	j := newJournal()
	for range maxEventBytes/maxOneEvent + 2 {
		j.add("message", line{strings.Repeat("x", maxOneEvent)})
	}
	events, gone, _, _ := j.after(0)
	if gone == 0 {
		t.Fatal("the journal keeps all")
	}
	f := &follower{journal: j}
	var got []byte
	for n, more := 0, (<-chan struct{})(nil); more == nil; n++ {
		if n > 2*maxEventBytes/follow.MaxPart {
			t.Fatalf("after %d parts more are there, from %.60q on", n, got)
		}
		var text []byte
		text, more, _ = f.next(nil)
		got = append(got, text...)
	}
	if begin := fmt.Sprintf("event: gap\ndata: {\"missed\":%d}\n\nevent: message\nid: %d\n", gone, gone+1); !strings.HasPrefix(string(got), begin) {
		t.Errorf("the stream begins with %.80q, want %q", got, begin)
	}
	if ids, gaps := strings.Count(string(got), "\nid: "), strings.Count(string(got), "event: gap"); ids != len(events) || gaps != 1 {
		t.Errorf("%d events and %d gaps came, want %d and 1", ids, gaps, len(events))
	}
}

func TestResumedStreamsReportGaps(t *testing.T) {
	c := serve(t, ways(t)["in process"])
	path := c.begin(Server{Name: "everything"})
	all := c.becomes(path, connected)
	for i, e := range all {
		if e.id != uint64(i+1) {
			t.Fatalf("event %d has the id %d", i, e.id)
		}
		if _, err := time.Parse(time.RFC3339Nano, text(e.data, "time")); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	half := len(all) / 2
	rest := c.events(path, uint64(half), func(e happened) bool { return e.id == uint64(len(all)) })
	if len(rest) != len(all)-half || string(rest[0].data) != string(all[half].data) {
		t.Errorf("%d events came again, want %d", len(rest), len(all)-half)
	}
}

// inside returns functions that use an Inspector in a bubble, without a network.
func inside(t *testing.T, open func(context.Context, Server, Hooks) (*Opened, error)) (do func(method, path, body string) (int, string), end func()) {
	inspector := New(Options{Open: open})
	mux := http.NewServeMux()
	inspector.Mount(mux.Handle)
	return func(method, path, body string) (int, string) {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}, inspector.Close
}

func memory(context.Context, Server, Hooks) (*Opened, error) {
	quiet := slog.New(slog.DiscardHandler)
	return &Opened{Name: "everything", Transport: stream.PipeWith(everything.New(), mcp.ServeOptions{Logger: quiet}), Client: mcp.ClientOptions{Logger: quiet}}, nil
}

func TestAConnectionThatNoPageFollowsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do, end := inside(t, memory)
		defer end()
		_, begun := do("POST", "/connections", `{"server":"everything"}`)
		path := "/connections/" + text(json.RawMessage(begun), "id")
		synctest.Wait()
		time.Sleep(idleTime - time.Second)
		if status, body := do("GET", path, ""); status != http.StatusOK || text(json.RawMessage(body), "state") != connected {
			t.Fatalf("%d %s", status, body)
		}
		time.Sleep(idleTime - time.Second)
		synctest.Wait()
		if status, _ := do("GET", path, ""); status != http.StatusOK {
			t.Fatalf("it ended though a page asked for it: %d", status)
		}
		time.Sleep(idleTime)
		synctest.Wait()
		if status, body := do("GET", path, ""); status != http.StatusNotFound {
			t.Errorf("it goes on: %d %s", status, body)
		}
	})
}

func TestTheTimeoutStopsDuringAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do, end := inside(t, memory)
		defer end()
		_, begun := do("POST", "/connections", `{"server":"everything"}`)
		path := "/connections/" + text(json.RawMessage(begun), "id")
		synctest.Wait()
		do("POST", path+"/requests", `{"method":"tools/call","params":{"name":"ask-url"},"timeout":5}`)
		synctest.Wait()
		time.Sleep(answerTime - time.Second)
		_, open := do("GET", path+"/questions", "")
		if !strings.Contains(open, `"kind":"elicitation"`) {
			t.Fatalf("nothing is asked: %s", open)
		}
		var questions struct {
			Questions []struct{ Question int }
		}
		if err := json.Unmarshal([]byte(open), &questions); err != nil {
			t.Fatal(err)
		}
		if status, body := do("POST", fmt.Sprintf("%s/answers/%d", path, questions.Questions[0].Question), `{"action":"accept"}`); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, body)
		}
		synctest.Wait()
		if _, result := do("GET", path+"/requests/1", ""); !strings.Contains(result, ": accept.") {
			t.Errorf("the result is %s", result)
		}
		do("POST", path+"/requests", `{"method":"tools/call","params":{"name":"ask-url"},"timeout":5}`)
		synctest.Wait()
		time.Sleep(answerTime)
		synctest.Wait()
		if _, open := do("GET", path+"/questions", ""); open != "{\"questions\":[]}\n" {
			t.Errorf("what nobody answers is open for ever: %s", open)
		}
	})
}

// silent is a server that never responds.
type silent struct{}

func (silent) String() string { return "silent" }

func (silent) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	<-ctx.Done()
	return nil, fmt.Errorf("server %q: %w", o.Name, context.Cause(ctx))
}

func TestASlowStartIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do, end := inside(t, func(context.Context, Server, Hooks) (*Opened, error) {
			return &Opened{Name: "slow", Transport: silent{}, Client: mcp.ClientOptions{ConnectTimeout: time.Minute}}, nil
		})
		defer end()
		_, begun := do("POST", "/connections", `{"server":"slow"}`)
		path := "/connections/" + text(json.RawMessage(begun), "id")
		time.Sleep(slowTime)
		synctest.Wait()
		_, now := do("GET", path, "")
		if text(json.RawMessage(now), "state") != connecting || text(json.RawMessage(now), "events") != "2" {
			t.Errorf("after 10 seconds: %s", now)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		_, now = do("GET", path, "")
		if text(json.RawMessage(now), "state") != failedState || text(json.RawMessage(now), "fault.cause") == "" {
			t.Errorf("after its time: %s", now)
		}
	})
}

func TestThereAreLimits(t *testing.T) {
	c := serve(t, ways(t)["in process"])
	path := c.begin(Server{Name: "everything"})
	c.becomes(path, connected)
	for range maxRunning {
		c.calls(path, "wait", object{"milliseconds": 600_000})
	}
	refused := c.do("POST", path+"/requests", object{"method": "ping"}, http.StatusTooManyRequests)
	if got := text(refused, "error"); got != "64 requests run on this connection: wait for one, or cancel it" {
		t.Errorf("the error is %q", got)
	}
	for range maxConnections - 1 {
		c.begin(Server{Name: "everything"})
	}
	refused = c.do("POST", "/connections", Server{Name: "everything"}, http.StatusTooManyRequests)
	if got := text(refused, "error"); got != "16 connections are open, and there are at most 16: close one" {
		t.Errorf("the error is %q", got)
	}
	c.do("DELETE", path, nil, http.StatusNoContent)
	c.do("GET", path, nil, http.StatusNotFound)
	c.begin(Server{Name: "everything"})
	var all struct{ Connections []view }
	if err := json.Unmarshal(c.do("GET", "/connections", nil, http.StatusOK), &all); err != nil || len(all.Connections) != maxConnections {
		t.Errorf("%d connections are listed, %v", len(all.Connections), err)
	}
	for body, want := range map[string]int{
		`{}`: http.StatusBadRequest, `{"server":"a","url":"http://b"}`: http.StatusBadRequest, `{"server":"a","args":["b"]}`: http.StatusBadRequest, `{"command":"a","headers":{"b":"c"}}`: http.StatusBadRequest,
		`[`: http.StatusBadRequest, `{"server":3}`: http.StatusBadRequest, `{"server":"` + strings.Repeat("x", maxDescription) + `"}`: http.StatusRequestEntityTooLarge,
	} {
		if refused := c.do("POST", "/connections", body, want); text(refused, "error") == "" {
			t.Errorf("%.80s: no reason is given", body)
		}
	}
}

func TestPagesThatFollowAConnectionAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do, end := inside(t, memory)
		_, begun := do("POST", "/connections", `{"server":"everything"}`)
		path := "/connections/" + text(json.RawMessage(begun), "id")
		var pages sync.WaitGroup
		for range maxFollowers {
			pages.Go(func() {
				if status, _ := do("GET", path+"/events", ""); status != http.StatusOK {
					t.Errorf("a page that may follow gets %d", status)
				}
			})
		}
		synctest.Wait()
		if status, body := do("GET", path+"/events", ""); status != http.StatusTooManyRequests || text(json.RawMessage(body), "error") != "8 pages follow this connection already" {
			t.Errorf("%d %s", status, body)
		}
		end()
		pages.Wait()
	})
}

func TestOldRequestsAreForgotten(t *testing.T) {
	c := newConnection(New(Options{}), "c", Server{})
	defer c.idle.Stop()
	for i := range maxRequests + 5 {
		q := &pageRequest{State: done, Params: json.RawMessage(`{}`)}
		if i == 0 {
			q.State = running
		}
		if err := c.enter(q, time.Hour); err != nil {
			t.Fatal(err)
		}
		q.clock.Stop()
		q.cancel(nil)
	}
	if len(c.requests) != maxRequests || c.requests[0].Request != 1 || c.requests[1].Request != 7 {
		t.Errorf("%d are kept: %d, %d", len(c.requests), c.requests[0].Request, c.requests[1].Request)
	}
	for range 40 {
		q := &pageRequest{State: done, Params: make(json.RawMessage, 1<<20)}
		if err := c.enter(q, time.Hour); err != nil {
			t.Fatal(err)
		}
		q.clock.Stop()
		q.cancel(nil)
	}
	if c.requestBytes > maxRequestBytes {
		t.Errorf("%d bytes are kept", c.requestBytes)
	}
}
