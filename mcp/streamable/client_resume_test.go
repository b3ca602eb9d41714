package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A scripted server answers one request after the other, without a network. It records the time of
// each and the event to resume after.
type scripted struct {
	t         *testing.T
	began     time.Time
	responses []any // a stream's text, an HTTP status, or an error
	seen      []string
	times     []time.Duration
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	}
	s.seen = append(s.seen, r.Method+" "+r.Header.Get("Last-Event-ID"))
	s.times = append(s.times, time.Since(s.began))
	if len(s.responses) == 0 {
		s.t.Errorf("%s is asked too much", r.Method)
		return nil, errors.New("too much")
	}
	response := s.responses[0]
	s.responses = s.responses[1:]
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
	switch response := response.(type) {
	case string:
		resp.Body = io.NopCloser(strings.NewReader(response))
		if text, stays := strings.CutSuffix(response, "STAYS"); stays {
			resp.Body = &lasting{text: strings.NewReader(text), done: r.Context().Done()}
		}
	case int:
		resp.StatusCode, resp.Body = response, http.NoBody
	case error:
		return nil, response
	}
	return resp, nil
}

// lasting is a stream that stays open.
type lasting struct {
	text io.Reader
	done <-chan struct{}
}

func (l *lasting) Read(b []byte) (int, error) {
	if n, err := l.text.Read(b); err == nil {
		return n, nil
	}
	<-l.done
	return 0, context.Canceled
}

func (l *lasting) Close() error { return nil }

func connectScripted(t *testing.T, responses ...any) (link.Link, *scripted) {
	t.Helper()
	s := &scripted{t: t, began: time.Now(), responses: responses}
	l, err := ClientWith("http://server/mcp", ClientOptions{HTTP: &http.Client{Transport: s}, MaxRetries: 3, Logger: slog.New(slog.DiscardHandler)}).(link.Linker).Link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, s
}

const clientEvent = `data: {"jsonrpc":"2.0","method":"%s"}` + "\n\n"

func eventOf(id, method string) string { return "id: " + id + "\n" + fmt.Sprintf(clientEvent, method) }

func TestClientResumesCalls(t *testing.T) {
	const (
		response = "data: " + clientGood + "\n\n"
		failed   = "error: expected a response to tools/call: "
		unknown  = ", and the server may have executed the request"
	)
	for _, test := range []struct {
		name      string
		responses []any
		want      string
		delivered string
		seen      string
		times     []time.Duration // exact unless negative
	}{
		{"after the time that the server asks for", []any{"id: a\nretry: 500\ndata:\n\n", "id: b\n" + response},
			`{"a":1}`, "", "POST  GET a", []time.Duration{0, 500 * time.Millisecond}},
		{"after a second if it does not ask", []any{eventOf("a", "one"), response},
			`{"a":1}`, "one", "POST  GET a", []time.Duration{0, time.Second}},
		{"again and again as long as events come", []any{eventOf("a", "one"), eventOf("b", "two"), "id: c\nretry: 0\ndata:\n\n", "id: d\ndata:\n\n", response},
			`{"a":1}`, "one two", "POST  GET a GET b GET c GET d", []time.Duration{0, time.Second, 2 * time.Second, 2*time.Second + minRetry, 2*time.Second + 2*minRetry}},
		{"and delivers nothing twice", []any{eventOf("a", "one") + eventOf("b", "two"), eventOf("a", "one") + eventOf("b", "two") + eventOf("c", "three") + "id: a\n" + response},
			`{"a":1}`, "one two three", "POST  GET b", nil},
		{"after failures that pass", []any{eventOf("a", "one"), errors.New("refused"), 503, response},
			`{"a":1}`, "one", "POST  GET a GET a GET a", []time.Duration{0, time.Second, -1, -1}},
		{"at most so often without success", []any{eventOf("a", "one"), 500, "", errors.New("refused")},
			failed + "refused; 3 attempts to resume it failed" + unknown, "one", "POST  GET a GET a GET a", nil},
		{"not where the server has no such streams", []any{eventOf("a", "one"), 405},
			failed + "GET http://server/mcp: HTTP status 405; it cannot be resumed" + unknown, "one", "POST  GET a", nil},
		{"not when the server took the id back", []any{eventOf("a", "one") + "id\n\n"},
			failed + "the stream ended; it cannot be resumed" + unknown, "one", "POST ", nil},
		{"not behind an id that no header can carry", []any{"id: a\x01b\ndata:\n\n"},
			failed + "the stream ended; it cannot be resumed" + unknown, "", "POST ", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s := connectScripted(t, test.responses...)
				var delivered []string
				got := clientOutcome(l.Call(t.Context(), clientOut("tools/call"), func(m *jsonrpc.Message) { delivered = append(delivered, m.Method) }))
				if got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				if got := strings.Join(delivered, " "); got != test.delivered {
					t.Errorf("delivered %q, want %q", got, test.delivered)
				}
				if got := strings.Join(s.seen, " "); got != test.seen {
					t.Errorf("the server saw %q, want %q", got, test.seen)
				}
				for i, want := range test.times {
					if want >= 0 && s.times[i] != want {
						t.Errorf("request %d came after %v, want %v", i, s.times[i], want)
					}
				}
			})
		})
	}
}

func TestClientWaitsLongerAfterFailures(t *testing.T) {
	e := newClientEvents()
	for failures, most := range map[int]time.Duration{1: 2500 * time.Millisecond, 2: 5 * time.Second, 3: 10 * time.Second, 5: 30 * time.Second, 1000: 30 * time.Second} {
		e.failures = failures
		for range 100 {
			if pause := e.pause(); pause < most*4/5 || pause > most {
				t.Errorf("%v after %d failures, want %v to %v", pause, failures, most*4/5, most)
			}
		}
	}
}

func TestClientStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := connectScripted(t, "id: a\nretry: 60000\ndata:\n\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := l.Call(ctx, clientOut("tools/call"), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestClientReceives(t *testing.T) {
	for _, test := range []struct {
		name      string
		responses []any
		delivered string
		seen      string
		times     []time.Duration
		want      error
	}{
		{"notifications, and goes on where the stream broke", []any{"retry: 200\n\n" + eventOf("a", "one"), eventOf("a", "one") + eventOf("b", "two"), 405},
			"one two", "GET  GET a GET b", []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond}, link.ErrNoChannel},
		{"no responses, and no nonsense", []any{"data: " + clientGood + "\n\ndata: oops\n\ndata: []\n\n" + fmt.Sprintf(clientEvent, "one") + "STAYS"}, "one", "GET ", nil, mcp.ErrClosed},
		{"batches", []any{`data: [{"jsonrpc":"2.0","method":"one"},{"jsonrpc":"2.0","id":1,"method":"two"}]` + "\n\nSTAYS"}, "one two", "GET ", nil, mcp.ErrClosed},
		{"nothing where there is no stream", []any{405}, "", "GET ", nil, link.ErrNoChannel},
		{"nothing where GET is unknown", []any{400}, "", "GET ", nil, link.ErrNoChannel},
		{"after failures that pass", []any{errors.New("refused"), 503, eventOf("a", "one"), 400, "STAYS"}, "one", "GET  GET  GET  GET a GET a", nil, mcp.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s := connectScripted(t, test.responses...)
				time.AfterFunc(time.Hour, func() { l.Close() })
				var delivered []string
				err := l.Receive(t.Context(), func() {}, func(m *jsonrpc.Message) { delivered = append(delivered, m.Method) })
				if !errors.Is(err, test.want) {
					t.Errorf("ends with %v, want %v", err, test.want)
				}
				if got := strings.Join(delivered, " "); got != test.delivered {
					t.Errorf("delivered %q, want %q", got, test.delivered)
				}
				if got := strings.Join(s.seen, " "); got != test.seen {
					t.Errorf("the server saw %q, want %q", got, test.seen)
				}
				for i, want := range test.times {
					if s.times[i] != want {
						t.Errorf("request %d came after %v, want %v", i, s.times[i], want)
					}
				}
			})
		})
	}
}

func TestClientDoesNotHammerAServerThatClosesItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := connectScripted(t)
		for range 1000 {
			s.responses = append(s.responses, "")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		l.Receive(ctx, func() {}, nil)
		if n := len(s.seen); n < 120 || n > 160 {
			t.Errorf("%d connections in an hour", n)
		}
	})
}

func TestClientRemembersSoManyEvents(t *testing.T) {
	var r recent
	for i := range 10 * maxSeen {
		if r.add(fmt.Sprint(i)) {
			t.Fatalf("%d was there before", i)
		}
	}
	if !r.add(fmt.Sprint(10*maxSeen-1)) || !r.add(fmt.Sprint(9*maxSeen)) || r.add("0") {
		t.Error("it should know the last ones, and those only")
	}
	if len(r.known) != maxSeen || len(r.order) != maxSeen {
		t.Errorf("%d and %d are kept", len(r.known), len(r.order))
	}
}
