package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const head = `{"recording":1,"program":"test","began":"2026-11-25T10:00:00Z"}` + "\n"

// playing returns a replay of these lines.
func playing(t *testing.T, o ReplayOptions, lines ...string) *Replay {
	t.Helper()
	r, err := Read(strings.NewReader(head + strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewReplay(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// called returns the lines of a call of a tool with its result, at a time.
func called(n int, at float64, params, result string) string {
	return fmt.Sprintf(`{"ms":%v,"event":"request","call":%d,"method":"tools/call","params":%s}`+"\n"+`{"ms":%v,"event":"result","call":%[2]d,"result":%[5]s}`, at, n, params, at+1, result)
}

// said returns the response of a replay: the result, or the error.
func said(t *testing.T, p *Replay, method, params string) string {
	t.Helper()
	result, err := p.Handle(t.Context(), mcp.NewRequest(method, json.RawMessage(params)))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(result.JSON)
}

func TestRepeatedRequestsGetResponsesInRecordedOrder(t *testing.T) {
	p := playing(t, ReplayOptions{},
		called(1, 1, `{"name":"n"}`, `{"n":1}`), called(2, 2, `{"name":"m"}`, `{"m":1}`), called(3, 3, `{"name":"n"}`, `{"n":2}`))
	for _, want := range []string{`{"n":1}`, `{"n":2}`, `{"n":2}`} {
		if got := said(t, p, "tools/call", `{"name":"n"}`); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUnknownRequestsListRecordedOnes(t *testing.T) {
	var heard []string
	p := playing(t, ReplayOptions{OnDifference: func(text string) { heard = append(heard, text) }},
		called(1, 1, `{"name":"add","arguments":{"a":1}}`, `{}`), called(2, 2, `{"name":"sub","arguments":{"a":2}}`, `{}`))
	for _, test := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"add","arguments":{"a":3,"password":"hunter2"}}`, `error: the recording has no tools/call "add" with {"a":3,"password":"{{secret-1}}"}, but with {"a":1} (code -32602)`},
		{"tools/call", `{"name":"mul"}`, `error: the recording has no tools/call "mul" with {}, but those of "add", "sub" (code -32602)`},
		{"resources/list", ``, `error: the recording has no resources/list (code -32601)`},
		{"server/discover", ``, `error: the recording does not describe the server (code -32603)`},
		{"ping", ``, ``},
	} {
		if got := said(t, p, test.method, test.params); got != test.want {
			t.Errorf("%s %s: got\n%s, want\n%s", test.method, test.params, got, test.want)
		}
	}
	if len(heard) != 3 || !slices.Equal(heard, p.Differences()) {
		t.Errorf("heard was %q, and the differences are %q", heard, p.Differences())
	}
}

func TestIdsThatDifferStandInTheAnswer(t *testing.T) {
	const (
		one = "0b8f3a52-6c1e-4d7a-9f00-1234567890ab"
		two = "99999999-6c1e-4d7a-9f00-1234567890ab"
	)
	p := playing(t, ReplayOptions{},
		called(1, 1, `{"name":"make","arguments":{"id":"`+one+`","key":"{{secret-1}}"}}`, `{"text":"made `+one+` with {{secret-1}}"}`),
		called(2, 2, `{"name":"make","arguments":{"id":"`+two+`","key":"k"}}`, `{"text":"the very same"}`))
	for _, test := range []struct{ params, want string }{
		{`{"name":"make","arguments":{"key":"mine","id":"11111111-6c1e-4d7a-9f00-1234567890ab"}}`, `{"text":"made 11111111-6c1e-4d7a-9f00-1234567890ab with mine"}`},
		{`{"name":"make","arguments":{"id":"` + two + `","key":"k"}}`, `{"text":"the very same"}`},
		{`{"name":"make","arguments":{"id":"` + one + `","key":"{{secret-1}}"}}`, `{"text":"made ` + one + ` with {{secret-1}}"}`},
	} {
		if got := said(t, p, "tools/call", test.params); got != test.want {
			t.Errorf("%s: got %s, want %s", test.params, got, test.want)
		}
	}
}

func TestStrictReplaysCountEachMessage(t *testing.T) {
	lines := []string{
		called(1, 1, `{"name":"a"}`, `{"a":1}`), called(2, 3, `{"name":"b"}`, `{"b":1}`),
		// c and d run at the same time
		`{"ms":5,"event":"request","call":3,"method":"tools/call","params":{"name":"c"}}`,
		`{"ms":6,"event":"request","call":4,"method":"tools/call","params":{"name":"d"}}`,
		`{"ms":7,"event":"result","call":3,"result":{"c":1}}`, `{"ms":8,"event":"result","call":4,"result":{"d":1}}`,
	}
	for _, test := range []struct {
		asked string // names of tools
		want  []string
	}{
		{"a b c d", nil},
		{"a b d c", nil},
		{"a b c", []string{`tools/call "d" with {} was recorded but never requested`}},
		{"b a c d", []string{`tools/call "b" with {} was requested before tools/call "a" with {}, which comes first in the recording`}},
		{"a a b c d", []string{`tools/call "a" with {} was requested more often than it was recorded`}},
		{"a b x c d", []string{`the recording has no tools/call "x" with {}, but those of "a", "b", "c", "d"`}},
	} {
		p := playing(t, ReplayOptions{Strict: true}, lines...)
		refused := 0
		for name := range strings.FieldsSeq(test.asked) {
			if strings.HasPrefix(said(t, p, "tools/call", `{"name":"`+name+`"}`), "error: ") {
				refused++
			}
		}
		if got := p.Differences(); !slices.Equal(got, test.want) {
			t.Errorf("%s: the differences are %q, want %q", test.asked, got, test.want)
		}
		if want := min(1, len(test.want)); refused != want && test.asked != "a b c" {
			t.Errorf("%s: %d were refused, want %d", test.asked, refused, want)
		}
	}
}

func TestStrictReplaysCompareClientResponses(t *testing.T) {
	lines := []string{
		`{"ms":1,"event":"request","call":1,"method":"tools/call","params":{"name":"a"}}`,
		`{"ms":2,"event":"serverRequest","call":1,"ask":1,"method":"elicitation/create","params":{"message":"who?"}}`,
		`{"ms":3,"event":"clientResponse","call":1,"ask":1,"result":{"action":"accept","content":{"name":"Ada"}}}`,
		`{"ms":4,"event":"result","call":1,"result":{"text":"Ada"}}`,
	}
	for response, want := range map[string][]string{
		`{"content":{"name":"Ada"},"action":"accept"}`: nil,
		`{"action":"decline"}`:                         {`in tools/call "a" with {} the client responds to elicitation/create with {"action":"decline"}, but the recording has {"action":"accept","content":{"name":"Ada"}}`},
	} {
		p := playing(t, ReplayOptions{Strict: true}, lines...)
		req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"a"}`))
		req.Peer = answering(response)
		result, err := p.Handle(t.Context(), req)
		if err != nil || string(result.JSON) != `{"text":"Ada"}` || !slices.Equal(p.Differences(), want) {
			t.Errorf("%s: %s, %v; the differences are %q, want %q", response, result.JSON, err, p.Differences(), want)
		}
	}
}

func TestPausesAreThoseOfTheRecordingOrScaled(t *testing.T) {
	lines := []string{
		`{"ms":0,"event":"request","call":1,"method":"tools/call","params":{"name":"a"}}`,
		`{"ms":1000,"event":"notification","call":1,"method":"notifications/progress","params":{"progress":1}}`,
		`{"ms":4000,"event":"serverRequest","call":1,"ask":1,"method":"roots/list"}`,
		`{"ms":604000,"event":"clientResponse","call":1,"ask":1,"result":{"roots":[]}}`, // the client's time does not count for the server
		`{"ms":606000,"event":"result","call":1,"result":{}}`,
	}
	for speed, want := range map[float64]time.Duration{0: 0, 1: 6 * time.Second, 4: 1500 * time.Millisecond, 0.5: 12 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := playing(t, ReplayOptions{Speed: speed}, lines...)
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"a"}`))
			req.Peer = answering(`{"roots":[]}`)
			began := time.Now()
			if _, err := p.Handle(t.Context(), req); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("at speed %v it took %v, want %v", speed, took, want)
			}
		})
	}
}

func TestCallsWithoutAResponseEnd(t *testing.T) {
	lines := []string{
		`{"ms":1,"event":"request","call":1,"method":"tools/call","params":{"name":"cancelled"}}`, `{"ms":2,"event":"cancelled","call":1}`,
		`{"ms":3,"event":"request","call":2,"method":"tools/call","params":{"name":"cut"}}`,
		`{"ms":4,"event":"request","call":3,"method":"tools/call","params":{"name":"failed"}}`,
		`{"ms":5,"event":"error","call":3,"error":{"code":-32602,"message":"no","data":{"a":1}}}`,
	}
	synctest.Test(t, func(t *testing.T) {
		p := playing(t, ReplayOptions{}, lines...)
		for name, want := range map[string]string{
			"cancelled": "error: the recording has no response to this call, because its client cancelled it (code -32603)",
			"cut":       "error: the recording ends before the response to this call (code -32603)",
			"failed":    "error: no (code -32602)",
		} {
			if got := said(t, p, "tools/call", `{"name":"`+name+`"}`); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := p.Handle(ctx, mcp.NewRequest("tools/call", json.RawMessage(`{"name":"cancelled"}`))); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("a call that is cancelled again ends after %v with %v", time.Since(began), err)
		}
	})
}

func TestOfSeveralServersOneIsPlayed(t *testing.T) {
	file := head + `{"ms":1,"event":"request","call":1,"server":"a","method":"tools/list"}` + "\n" + `{"ms":2,"event":"request","call":2,"server":"b","method":"tools/list"}` + "\n" +
		`{"ms":3,"event":"result","call":2,"result":{"b":1}}` + "\n"
	r, err := Read(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{"": `the recording has several servers: name one of ["a" "b"]`, "c": `the recording has no server "c"; it has ["a" "b"]`} {
		if _, err := NewReplay(r, ReplayOptions{Server: server}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	p, err := NewReplay(r, ReplayOptions{Server: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, p, "tools/list", `{}`); got != `{"b":1}` {
		t.Errorf("got %s", got)
	}
}

// TestMessagesOutsideCallsAreReplayedInTime checks that a message outside of calls follows the
// recorded call before it, and is sent to each client that listens then.
func TestMessagesOutsideCallsAreReplayedInTime(t *testing.T) {
	lines := []string{
		`{"ms":0,"event":"request","call":9,"method":"server/discover"}`,
		`{"ms":0,"event":"result","call":9,"result":{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}}`,
		`{"ms":0,"event":"request","call":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`,
		`{"ms":0,"event":"request","call":4,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:1"]}}}`,
		`{"ms":1,"event":"serverRequest","call":1,"ask":1,"method":"roots/list"}`,
		called(2, 2, `{"name":"a"}`, `{}`),
		`{"ms":4,"event":"notification","call":1,"method":"notifications/tools/list_changed"}`,
		called(3, 5, `{"name":"b"}`, `{}`),
		`{"ms":7,"event":"notification","call":4,"method":"notifications/resources/updated","params":{"uri":"x:1"}}`,
	}
	synctest.Test(t, func(t *testing.T) {
		p := playing(t, ReplayOptions{}, lines...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		listen := func(filter string) *listener {
			l := new(listener)
			req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":`+filter+`}`))
			req.Peer = l
			go p.Handle(ctx, req)
			synctest.Wait()
			return l
		}
		tools := listen(`{"toolsListChanged":true,"promptsListChanged":true}`)
		both := listen(`{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}`)
		other := listen(`{"resourceSubscriptions":["x:2"]}`)
		said(t, p, "tools/call", `{"name":"a"}`)
		synctest.Wait()
		late := listen(`{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}`)
		said(t, p, "tools/call", `{"name":"b"}`)
		synctest.Wait()
		for _, test := range []struct {
			name string
			l    *listener
			want []string
		}{
			{"the first", tools, []string{`acknowledged {"notifications":{"toolsListChanged":true}}`, "asked roots/list", "tools/list_changed "}},
			{"the second", both, []string{`acknowledged {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}`, "tools/list_changed ", `resources/updated {"uri":"x:1"}`}},
			{"of another resource", other, []string{`acknowledged {"notifications":{"resourceSubscriptions":["x:2"]}}`}},
			{"who came later", late, []string{`acknowledged {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}`, `resources/updated {"uri":"x:1"}`}},
		} {
			if !slices.Equal(test.l.heard, test.want) {
				t.Errorf("%s heard\n%q, want\n%q", test.name, test.l.heard, test.want)
			}
		}
		cancel()
	})
}

// A listener is the Peer of a listen request.
type listener struct{ heard []string }

func (l *listener) Notify(_ context.Context, method string, params json.RawMessage) error {
	for _, prefix := range []string{"notifications/subscriptions/", "notifications/"} {
		method = strings.TrimPrefix(method, prefix)
	}
	l.heard = append(l.heard, method+" "+string(params))
	return nil
}

func (l *listener) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	l.heard = append(l.heard, "asked "+q.Method)
	return json.RawMessage(`{"roots":[]}`), nil
}

// TestVeryManyNotificationsOutsideOfCallsArePlayedInTime covers a server that logs all day.
func TestVeryManyNotificationsOutsideOfCallsArePlayedInTime(t *testing.T) {
	const many = 40_000
	lines := []string{`{"ms":1,"event":"request","call":1,"method":"subscriptions/listen","params":{"notifications":{}}}`}
	for range many {
		lines = append(lines, `{"ms":2,"event":"notification","call":1,"method":"notifications/message","params":{"level":"info","data":1}}`)
	}
	p := playing(t, ReplayOptions{}, lines...)
	req := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{}}`))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	heard := 0
	req.Peer = notified(func() {
		if heard++; heard == many+1 { // including the acknowledgement
			cancel()
		}
	})
	if _, err := p.Handle(ctx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("%d are played of %d: %v", heard, many, err)
	}
}

// A notified is a Peer that is called for each notification.
type notified func()

func (n notified) Notify(context.Context, string, json.RawMessage) error {
	n()
	return nil
}

func (notified) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) { return nil, nil }

func TestNumbersOfAHostileRecordingStayWithinBounds(t *testing.T) {
	r, err := Read(strings.NewReader(head + `{"ms":1,"event":"request","call":1,"method":"tools/list"}
{"ms":2,"event":"result","call":1,"result":{"tools":[]},"ttlMs":9223372036855}
{"ms":3,"event":"lost","lines":-5}
{"ms":4,"event":"lost","lines":9223372036854775807}
`))
	if err != nil {
		t.Fatal(err)
	}
	if ttl := r.Exchanges()[0].Result.TTL; ttl <= 0 || r.Lost <= 0 {
		t.Errorf("the result lives for %v, and %d messages are missing", ttl, r.Lost)
	}
}

func TestForeignFilesAreNotRecordings(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "this is not a recording: its first line is not the header of one"},
		{"{}\n", "this is not a recording: its first line is not the header of one"},
		{`{"recording":1,"began":"2026-11-25T10:00:00Z"}`, "this is not a recording: its first line is not the header of one"},
		{`{"recording":2}` + "\n", "the recording has the format 2, but this junction reads 1: use a newer one"},
		{head + "what\n", "line 2: "},
		{head + `{"event":"request","call":1}` + "\n", "line 2: a request needs a method and the number of its call"},
		{head + `{"event":"request","method":"a"}` + "\n", "line 2: a request needs a method and the number of its call"},
		{head + `{"event":"request","call":1,"method":"a","params":[]}` + "\n", "line 2: params: expected an object"},
		{head + `{"event":"request","call":1,"method":"a"}` + "\n" + `{"event":"request","call":1,"method":"a"}` + "\n", "line 3: call 1 begins a second time"},
		{head + strings.Repeat("x", maxLine+1), "line 2 has more than 24 MiB"},
	} {
		if _, err := Read(strings.NewReader(test.text)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.100s: got %v, want %s", test.text, err, test.want)
		}
	}
	r, err := Read(strings.NewReader(head + `{"event":"of a newer junction","call":1}` + "\n" + `{"event":"result","call":7}` + "\n" + `{"event":"requ`))
	if err != nil || r.Lost != 2 || r.Whole {
		t.Errorf("a file that ends within a line: %+v, %v", r, err)
	}
}
