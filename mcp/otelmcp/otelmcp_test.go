package otelmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// recording returns options whose spans are kept, and what keeps them.
func recording() (otelmcp.Options, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	return otelmcp.Options{
		TracerProvider: sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)),
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}, spans
}

// traced is a server with a tool that tells what it knows of its trace.
func traced() *mcp.Server {
	s := mcp.NewServer("traced", "1")
	mcp.AddTool(s, "where", func(ctx context.Context, _ struct{}) (string, error) {
		at := trace.SpanContextFromContext(ctx)
		return fmt.Sprint(at.TraceID(), " ", at.SpanID(), " ", baggage.FromContext(ctx)), nil
	})
	mcp.AddTool(s, "fail", func(context.Context, struct{}) (string, error) { return "", errors.New("secret") })
	return s
}

func dial(t *testing.T, h mcp.Handler, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var paths = [][]string{
	{"2026-07-28"}, {"2025-11-25"}, {"2024-11-05"},
	{"2026-07-28", "2025-11-25"}, {"2025-11-25", "2026-07-28"},
}

// One trace leads from the caller through every proxy into the tool, whichever
// revisions lie in between.
func TestTraceCrossesEveryEra(t *testing.T) {
	for _, path := range paths {
		t.Run(strings.Join(path, " to "), func(t *testing.T) {
			o, spans := recording()
			var h mcp.Handler = traced()
			var c *mcp.Client
			for i := len(path) - 1; i >= 0; i-- {
				h = mcp.Chain(h, otelmcp.Server(o))
				c = dial(t, h, mcp.ClientOptions{Revision: path[i], Bridge: i > 0, Middleware: []mcp.Middleware{otelmcp.Client(o)}})
				h = c
			}
			spans.Reset()
			member, _ := baggage.NewMember("user", "ada")
			bag, _ := baggage.New(member)
			ctx, root := o.TracerProvider.Tracer("test").Start(baggage.ContextWithBaggage(t.Context(), bag), "root")
			where, err := mcp.Call[string](ctx, c, "where", nil)
			root.End()
			if err != nil {
				t.Fatal(err)
			}
			checkChain(t, spans.Ended(), path, where)
		})
	}
}

// checkChain: every span but the last has the next one as its parent.
func checkChain(t *testing.T, spans []sdk.ReadOnlySpan, path []string, where string) {
	if len(spans) != 2*len(path)+1 {
		t.Fatalf("%d spans", len(spans))
	}
	innermost := spans[0].SpanContext()
	if want := fmt.Sprint(innermost.TraceID(), " ", innermost.SpanID(), " user=ada"); where != want {
		t.Errorf("the tool is in %s, want %s", where, want)
	}
	for i, span := range spans[:len(spans)-1] {
		kind := trace.SpanKindServer
		if i%2 == 1 {
			kind = trace.SpanKindClient
		}
		parent := spans[i+1].SpanContext()
		if span.SpanKind() != kind || span.Name() != "tools/call where" || span.Parent().SpanID() != parent.SpanID() || span.SpanContext().TraceID() != parent.TraceID() {
			t.Errorf("span %d: %v %s in %v, want a child of %v", i, span.SpanKind(), span.Name(), span.Parent(), parent)
		}
		if span.Parent().IsRemote() != (kind == trace.SpanKindServer) || len(span.Links()) != 0 || span.Status().Code != codes.Unset {
			t.Errorf("span %d: parent %v, links %v, status %v", i, span.Parent(), span.Links(), span.Status())
		}
		want := []attribute.KeyValue{
			attribute.String("mcp.method.name", "tools/call"),
			attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", "where"),
		}
		want = append(want, attribute.String("mcp.protocol.version", path[len(path)-1-i/2]), attribute.String("network.transport", "pipe"))
		got := slices.DeleteFunc(slices.Clone(span.Attributes()), func(a attribute.KeyValue) bool { return a.Key == "jsonrpc.request.id" })
		byKey := func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) }
		slices.SortFunc(got, byKey)
		slices.SortFunc(want, byKey)
		if !slices.Equal(got, want) || len(got) != len(span.Attributes())-1 {
			t.Errorf("span %d: attributes %v, want %v and an id", i, span.Attributes(), want)
		}
	}
}

func TestTraceCrossesWithinAProcess(t *testing.T) {
	o, spans := recording()
	c := mcp.NewClientWith(mcp.Chain(traced(), otelmcp.Server(o)), mcp.ClientOptions{Middleware: []mcp.Middleware{otelmcp.Client(o)}})
	defer c.Close()
	spans.Reset()
	where, err := mcp.Call[string](t.Context(), c, "where", nil)
	if err != nil || len(spans.Ended()) != 2 {
		t.Fatalf("%d spans, %v", len(spans.Ended()), err)
	}
	server, client := spans.Ended()[0], spans.Ended()[1]
	if server.Parent().SpanID() != client.SpanContext().SpanID() || len(server.Links()) != 0 || !strings.Contains(where, server.SpanContext().SpanID().String()) {
		t.Errorf("server %v in %v with links %v, client %v, tool in %s", server.SpanContext(), server.Parent(), server.Links(), client.SpanContext(), where)
	}
}

// sent returns the params that a request has behind the client's middleware.
func sent(t *testing.T, ctx context.Context, o otelmcp.Options, method, params string) (*mcp.Request, map[string]any) {
	t.Helper()
	var got *mcp.Request
	h := mcp.Chain(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		got = req
		return mcp.Result{}, nil
	}), otelmcp.Client(o))
	if _, err := h.Handle(ctx, mcp.NewRequest(method, json.RawMessage(params))); err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if got.Params != nil {
		if err := json.Unmarshal(got.Params, &decoded); err != nil {
			t.Fatalf("%s: %v", got.Params, err)
		}
	}
	return got, decoded
}

func TestTraceContextIsWrittenIntoTheRequest(t *testing.T) {
	o, spans := recording()
	for _, test := range []struct{ name, method, params, want string }{
		{"no params", "tools/list", ``, `{"_meta":{"traceparent":"HERE"}}`},
		{"empty params", "tools/list", `{}`, `{"_meta":{"traceparent":"HERE"}}`},
		{"no _meta", "tools/call", `{"name":"a","arguments":{"_meta":1}}`, `{"name":"a","arguments":{"_meta":1},"_meta":{"traceparent":"HERE"}}`},
		{"an empty _meta", "tools/list", `{"_meta":{},"cursor":"x"}`, `{"cursor":"x","_meta":{"traceparent":"HERE"}}`},
		{"other members", "tools/list", `{"_meta":{"progressToken":1,"a/b":[2]}}`, `{"_meta":{"progressToken":1,"a/b":[2],"traceparent":"HERE"}}`},
		{"a trace of its own", "tools/list", `{"_meta":{"traceparent":"00-1-1-00","\u0074racestate":"a=b","baggage":"a=b"}}`, `{"_meta":{"traceparent":"HERE"}}`},
		{"a subscription", "subscriptions/listen", `{"notifications":{}}`, `{"notifications":{},"_meta":{"traceparent":"HERE"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			spans.Reset()
			ctx, root := o.TracerProvider.Tracer("test").Start(t.Context(), "root")
			req, _ := sent(t, ctx, o, test.method, test.params)
			at := root.SpanContext()
			if test.method != "subscriptions/listen" {
				at = spans.Ended()[0].SpanContext()
			} else if len(spans.Ended()) != 0 {
				t.Error("a subscription has a span")
			}
			here := fmt.Sprintf("00-%s-%s-01", at.TraceID(), at.SpanID())
			if want := strings.ReplaceAll(test.want, "HERE", here); string(req.Params) != want {
				t.Errorf("got %s, want %s", req.Params, want)
			}
			if req.Meta.TraceParent != here || req.Meta.TraceState != "" || req.Meta.Baggage != "" {
				t.Errorf("meta %+v", req.Meta)
			}
			if test.method == "tools/call" && (req.Name != "a" || string(req.Arguments) != `{"_meta":1}`) {
				t.Errorf("name %q, arguments %s", req.Name, req.Arguments)
			}
		})
	}
}

func TestWithoutPropagatorNothingIsWritten(t *testing.T) {
	o, spans := recording()
	o.Propagator = nil // the global one, which nobody set
	req, _ := sent(t, t.Context(), o, "tools/list", `{"_meta":{"traceparent":"x"}}`)
	if string(req.Params) != `{"_meta":{"traceparent":"x"}}` || len(spans.Ended()) != 1 {
		t.Errorf("params %s, %d spans", req.Params, len(spans.Ended()))
	}
}

// private is a propagator with a member of its own.
type private struct{ propagation.TraceContext }

func (private) Inject(_ context.Context, c propagation.TextMapCarrier) { c.Set("x-own", "a\"b") }
func (private) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	return context.WithValue(ctx, private{}, c.Get("x-own"))
}
func (private) Fields() []string { return []string{"x-own", "x-old"} }

func TestOtherPropagatorsHaveMembersOfTheirOwn(t *testing.T) {
	o, _ := recording()
	o.Propagator = private{}
	req, meta := sent(t, t.Context(), o, "tools/list", `{"_meta":{"x-old":"1","x-own":"2","z":3}}`)
	if got := fmt.Sprint(meta["_meta"]); got != `map[x-own:a"b z:3]` {
		t.Errorf("_meta %s", got)
	}
	var seen any
	h := mcp.Chain(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
		seen = ctx.Value(private{})
		return mcp.Result{}, nil
	}), otelmcp.Server(o))
	if _, err := h.Handle(t.Context(), req); err != nil || seen != `a"b` {
		t.Errorf("extracted %v, %v", seen, err)
	}
}

func TestOutcomeIsTheStatusOfTheSpan(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		name           string
		ctx            context.Context
		result         mcp.Result
		err            error
		status         sdk.Status
		server, client string // error.type, rpc.response.status_code
		event          string
	}{
		{"ok", nil, mcp.Result{}, nil, sdk.Status{}, "", "", ""},
		{"tool error", nil, mcp.Result{Value: mcp.ToolError("secret")}, nil, sdk.Status{Code: codes.Error}, "tool_error", "tool_error", ""},
		{"protocol error", nil, mcp.Result{}, mcp.Errorf(-32602, "no such tool"), sdk.Status{Code: codes.Error, Description: "no such tool"}, "-32602 -32602", "-32602 -32602", ""},
		{"other error", nil, mcp.Result{}, errors.New("disk full"), sdk.Status{Code: codes.Error, Description: "disk full"}, "-32603 -32603", "_OTHER", ""},
		{"timeout", nil, mcp.Result{}, fmt.Errorf("late: %w", context.DeadlineExceeded), sdk.Status{Code: codes.Error, Description: "timed out: late: context deadline exceeded"}, "-32603 -32603", "timeout", ""},
		{"request to the client", nil, mcp.Result{}, mcp.ErrInputRequired, sdk.Status{}, "", "", "input_required"},
		{"cancelled", cancelled, mcp.Result{}, context.Canceled, sdk.Status{}, "", "", "cancelled"},
	} {
		for side, want := range map[string]string{"server": test.server, "client": test.client} {
			o, spans := recording()
			m := otelmcp.Server(o)
			if side == "client" {
				m = otelmcp.Client(o)
			}
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			answer := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return test.result, test.err })
			_, err := m(answer).Handle(ctx, mcp.NewRequest("prompts/get", json.RawMessage(`{"name":"p"}`)))
			span := spans.Ended()[0]
			var got []string
			for _, a := range span.Attributes() {
				if a.Key == "error.type" || a.Key == "rpc.response.status_code" {
					got = append(got, a.Value.AsString())
				}
			}
			event := ""
			for _, e := range span.Events() {
				event += e.Name
			}
			if err != test.err || span.Status() != test.status || strings.Join(got, " ") != want || event != test.event || span.Name() != "prompts/get p" {
				t.Errorf("%s, %s: %v, span %s, status %+v, %q, events %q", test.name, side, err, span.Name(), span.Status(), got, event)
			}
		}
	}
}

func TestServerChoosesItsParent(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, test := range []struct {
		name           string
		traceparent    string
		public, around bool
		parent, link   string // "remote", "around" or ""
	}{
		{"nobody", "", false, false, "", ""},
		{"the client", parent, false, false, "remote", ""},
		{"what is around", "", false, true, "around", ""},
		{"the client, linked to what is around", parent, false, true, "remote", "around"},
		{"what is around, linked to a client that may be anybody", parent, true, true, "around", "remote"},
		{"nobody, linked to a client that may be anybody", parent, true, false, "", "remote"},
		{"nobody, as the client's makes no sense", "00-zz-1", false, false, "", ""},
		{"nobody, as the client's is too long", parent + strings.Repeat("0", 10_000), false, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, spans := recording()
			o.Public = test.public
			ctx := t.Context()
			ids := map[string]string{"remote": "00f067aa0ba902b7", "": "0000000000000000"}
			if test.around {
				var around trace.Span
				ctx, around = o.TracerProvider.Tracer("test").Start(ctx, "around")
				ids["around"] = around.SpanContext().SpanID().String()
			}
			req := mcp.NewRequest("resources/read", json.RawMessage(`{"uri":"https://u:secret@h/a?token=secret"}`))
			req.Meta.TraceParent, req.Meta.Baggage = test.traceparent, "user=eve"
			h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
				if got := baggage.FromContext(ctx).String(); (got == "") != test.public {
					t.Errorf("baggage %q", got)
				}
				return mcp.Result{}, nil
			})
			if _, err := otelmcp.Server(o)(h).Handle(ctx, req); err != nil {
				t.Fatal(err)
			}
			span, link := spans.Ended()[0], ""
			for _, l := range span.Links() {
				link = l.SpanContext.SpanID().String()
			}
			if test.link != "" && link != ids[test.link] || test.link == "" && link != "" || span.Parent().SpanID().String() != ids[test.parent] {
				t.Errorf("parent %v, links %v", span.Parent(), span.Links())
			}
			if span.Name() != "resources/read" || !slices.Contains(span.Attributes(), attribute.String("mcp.resource.uri", "https://***@h/a?***")) {
				t.Errorf("span %s with %v", span.Name(), span.Attributes())
			}
		})
	}
}

func TestToolErrorIsSeenOnBothSidesOfTheWire(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		o, spans := recording()
		c := dial(t, mcp.Chain(traced(), otelmcp.Server(o)), mcp.ClientOptions{Revision: revision, Middleware: []mcp.Middleware{otelmcp.Client(o)}})
		spans.Reset()
		if result, err := c.CallTool(t.Context(), "fail", nil); err != nil || !result.IsError {
			t.Fatalf("%+v, %v", result, err)
		}
		for _, span := range spans.Ended() {
			if span.Status().Code != codes.Error || !slices.Contains(span.Attributes(), attribute.String("error.type", "tool_error")) {
				t.Errorf("%s: %v %+v %v", revision, span.SpanKind(), span.Status(), span.Attributes())
			}
		}
	}
}

func TestSpanOfAHandlerThatPanicsEnds(t *testing.T) {
	o, spans := recording()
	h := otelmcp.Server(o)(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { panic("boom") }))
	defer func() {
		if recover() == nil || len(spans.Ended()) != 1 {
			t.Errorf("%d spans", len(spans.Ended()))
		}
	}()
	h.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
}
