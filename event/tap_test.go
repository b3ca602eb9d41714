package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/mcp"
)

// seen is a Sink that keeps the steps as lines.
type seen struct {
	off   bool
	asked atomic.Int64
	lines []string
	added any // to the context of the request
}

type addedKey struct{}

func (s *seen) Watching() bool { return !s.off }

func (s *seen) Begin(ctx context.Context, request event.Step) (context.Context, event.Call) {
	s.Step(ctx, request)
	return context.WithValue(ctx, addedKey{}, s.added), s
}

func (s *seen) NextID() int64 { return 100 + s.asked.Add(1) }

func (s *seen) Step(_ context.Context, step event.Step) {
	kind := map[event.Kind]string{event.Request: "request", event.Notification: "notification", event.Question: "question", event.Answer: "answer",
		event.Response: "response", event.Pending: "pending", event.Failure: "failure", event.Cancelled: "cancelled"}[step.Kind]
	arrow := "<-"
	if step.ToServer {
		arrow = "->"
	}
	line := fmt.Sprintf("%s %s %s %d %s%s %s", arrow, kind, step.Request.Method, step.ID, step.Method, step.Key, step.Body)
	if step.Err != nil {
		line += " " + step.Err.Error()
	}
	if step.Result != nil {
		line += " " + string(step.Result.Meta)
	}
	s.lines = append(s.lines, line)
}

// A client answers questions, or does not.
type client struct {
	answer string
	err    error
	said   []string // what it was notified of, asked, and otherwise got
}

func (c *client) Notify(_ context.Context, method string, params json.RawMessage) error {
	c.said = append(c.said, method+string(params))
	return nil
}

func (c *client) Ask(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	c.said = append(c.said, q.Method)
	return json.RawMessage(c.answer), c.err
}

func (c *client) ReleaseStream()                   { c.said = append(c.said, "disconnect") }
func (c *client) Sent(s mcp.TransportInfo)         { c.said = append(c.said, "sent "+s.ID) }
func (c *client) TransportInfo() mcp.TransportInfo { return mcp.TransportInfo{ID: "7"} }

// unencodable is a value of which there is no JSON.
type unencodable struct{}

func (unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON") }

func TestTapShowsEveryStep(t *testing.T) {
	const call = "-> request tools/call 0 tools/call {}"
	ask := func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if err := req.Peer.Notify(ctx, "notifications/progress", json.RawMessage(`{"progress":1}`)); err != nil {
			return mcp.Result{}, err
		}
		answer, err := req.Peer.Ask(ctx, mcp.ServerRequest{Key: "/k", Method: "elicitation/create", Params: json.RawMessage(`{"a":1}`)})
		return mcp.Result{JSON: answer, Meta: json.RawMessage(`{"m":1}`)}, err
	}
	const notified, asked = `<- notification tools/call 0 notifications/progress {"progress":1}`, `<- question tools/call 101 elicitation/create/k {"a":1}`
	for _, test := range []struct {
		name      string
		answer    string
		err       error
		cancelled bool
		handle    mcp.HandlerFunc
		want      []string
	}{
		{name: "a result", handle: func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{Value: map[string]int{"a": 1}}, nil
		}, want: []string{call, `<- response tools/call 0 tools/call {"a":1} `}},
		{name: "an error", handle: func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{}, &mcp.Error{Code: 3, Message: "no", Data: json.RawMessage(`{"d":1}`)}
		}, want: []string{call, `<- failure tools/call 0 tools/call {"code":3,"message":"no","data":{"d":1}} no (code 3)`}},
		{name: "a result without JSON", handle: func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{Value: unencodable{}}, nil },
			want: []string{call, "<- failure"}},
		{name: "a request that is cancelled", cancelled: true, handle: func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) { return mcp.Result{}, ctx.Err() },
			want: []string{call, `<- cancelled tools/call 0 tools/call {"code":-32603,"message":"context canceled"} context canceled`}},
		{name: "an answer", answer: `{"b":2}`, handle: ask, want: []string{call, notified, asked, `-> answer tools/call 101 elicitation/create/k {"b":2}`, `<- response tools/call 0 tools/call {"b":2} {"m":1}`}},
		{name: "a refusal", err: mcp.Errorf(-1, "not now"), handle: ask, want: []string{call, notified, asked,
			`-> failure tools/call 101 elicitation/create/k {"code":-1,"message":"not now"} not now (code -1)`, `<- failure tools/call 0 tools/call {"code":-1,"message":"not now"} not now (code -1)`}},
		{name: "an answer that nobody waits for", cancelled: true, err: context.Canceled, handle: ask, want: []string{call, notified, asked,
			`-> cancelled tools/call 101 elicitation/create/k {"code":-32603,"message":"context canceled"} context canceled`, `<- cancelled tools/call 0 tools/call {"code":-32603,"message":"context canceled"} context canceled`}},
		{name: "another round", err: fmt.Errorf("asking: %w", mcp.ErrInputRequired), handle: ask, want: []string{call, notified, asked, `<- pending tools/call 0 tools/call {"resultType":"input_required"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if cancel(); !test.cancelled {
				ctx = t.Context()
			}
			s, c := &seen{}, &client{answer: test.answer, err: test.err}
			req := mcp.NewRequest("tools/call", json.RawMessage(`{}`))
			req.Peer = c
			result, err := event.Tap(s)(test.handle).Handle(ctx, req)
			if len(s.lines) != len(test.want) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(s.lines, "\n"), strings.Join(test.want, "\n"))
			}
			for i, want := range test.want {
				if got := s.lines[i]; got != want && !(want == "<- failure" && strings.HasPrefix(got, want)) {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			}
			if last := s.lines[len(s.lines)-1]; (err == nil) != strings.HasPrefix(last, "<- response") || err == nil && result.JSON == nil {
				t.Errorf("the result is %+v, %v", result, err)
			}
		})
	}
}

func TestTapPassesOnAllThatAPeerHas(t *testing.T) {
	s, c := &seen{added: "here"}, &client{}
	h := event.Tap(s)(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if got := ctx.Value(addedKey{}); got != "here" {
			t.Errorf("the context of the sink: %v", got)
		}
		if got := mcp.TransportInfoOf(req).ID; got != "7" {
			t.Errorf("the TransportInfo has the id %q", got)
		}
		if sent, watched := mcp.PeerAs[interface{ Sent(mcp.TransportInfo) }](req.Peer); watched {
			sent.Sent(mcp.TransportInfo{ID: "8"})
		}
		if d, can := mcp.PeerAs[interface{ ReleaseStream() }](req.Peer); can {
			d.ReleaseStream()
		}
		return mcp.Result{}, nil
	}))
	req := mcp.NewRequest("ping", nil)
	req.Peer = c
	if _, err := h.Handle(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sent 8", "disconnect"}; !slices.Equal(c.said, want) {
		t.Errorf("got %q, want %q", c.said, want)
	}
	none := event.Tap(s)(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Peer != nil {
			t.Error("a request without a Peer has one")
		}
		return mcp.Result{}, nil
	}))
	if _, err := none.Handle(t.Context(), mcp.NewRequest("ping", nil)); err != nil {
		t.Fatal(err)
	}
}

func TestUnwatchedTapsCostNothing(t *testing.T) {
	s := &seen{off: true}
	req := mcp.NewRequest("ping", nil)
	req.Peer = &client{}
	h := event.Tap(s)(mcp.HandlerFunc(func(_ context.Context, got *mcp.Request) (mcp.Result, error) {
		if got != req {
			t.Error("the request is another one")
		}
		return mcp.Result{}, nil
	}))
	if n := testing.AllocsPerRun(100, func() { _, _ = h.Handle(t.Context(), req) }); n != 0 || len(s.lines) != 0 {
		t.Errorf("%v allocations, steps %q", n, s.lines)
	}
}
