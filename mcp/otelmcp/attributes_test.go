package otelmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// carriers serve a Handler, and return how a client gets there.
var carriers = map[string]func(t *testing.T, h mcp.Handler) mcp.Transport{
	"pipe": func(_ *testing.T, h mcp.Handler) mcp.Transport { return stream.Pipe(h) },
	"socket": func(t *testing.T, h mcp.Handler) mcp.Transport {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		served := make(chan error, 1)
		go func() { served <- stream.Serve(ctx, l, h) }()
		t.Cleanup(func() { cancel(); <-served })
		return stream.Dial("tcp", l.Addr().String())
	},
	"http": func(t *testing.T, h mcp.Handler) mcp.Transport {
		endpoint := streamable.Handler(h)
		site := httptest.NewServer(endpoint)
		t.Cleanup(func() { endpoint.Close(); site.Close() })
		return streamable.Client(site.URL)
	},
	"sse": func(t *testing.T, h mcp.Handler) mcp.Transport {
		endpoint := httpsse.Handler(h)
		site := httptest.NewServer(endpoint)
		t.Cleanup(func() { endpoint.Close(); site.Close() })
		return httpsse.Client(site.URL)
	},
}

var (
	aPort   = regexp.MustCompile(`(\.port)=\d+`)
	aDigest = regexp.MustCompile(`(mcp\.session\.id)=[0-9a-f]{32}\b`)
	anID    = regexp.MustCompile(`(jsonrpc\.request\.id)=\d+`)
)

// shown are the attributes of a span, without the numbers that differ from run to run.
func shown(s sdk.ReadOnlySpan) string {
	var all []string
	for _, a := range s.Attributes() {
		all = append(all, fmt.Sprint(a.Key, "=", a.Value.String()))
	}
	slices.Sort(all)
	text := aPort.ReplaceAllString(strings.Join(all, " "), "$1=N")
	return anID.ReplaceAllString(aDigest.ReplaceAllString(text, "$1=DIGEST"), "$1=N")
}

// TestAttributesOfTheConventions has all attributes of the spans of a failed call, on both sides.
func TestAttributesOfTheConventions(t *testing.T) {
	const ofCall = "error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=fail jsonrpc.request.id=N mcp.method.name=tools/call mcp.protocol.version="
	for _, test := range []struct{ carrier, revision, client, server string }{
		{"pipe", "2025-11-25", "network.transport=pipe", "network.transport=pipe"},
		{"pipe", "2026-07-28", "network.transport=pipe", "network.transport=pipe"},
		{"socket", "2025-11-25", "network.transport=tcp server.address=127.0.0.1 server.port=N", "network.transport=tcp"},
		{"socket", "2026-07-28", "network.transport=tcp server.address=127.0.0.1 server.port=N", "network.transport=tcp"},
		{"http", "2025-11-25", "mcp.session.id=DIGEST network.protocol.name=http network.transport=tcp server.address=127.0.0.1 server.port=N", "mcp.session.id=DIGEST network.protocol.name=http network.protocol.version=1.1 network.transport=tcp"},
		{"http", "2026-07-28", "network.protocol.name=http network.transport=tcp server.address=127.0.0.1 server.port=N", "network.protocol.name=http network.protocol.version=1.1 network.transport=tcp"},
		{"sse", "2024-11-05", "network.protocol.name=http network.transport=tcp server.address=127.0.0.1 server.port=N", "mcp.session.id=DIGEST network.protocol.name=http network.protocol.version=1.1 network.transport=tcp"},
	} {
		t.Run(test.carrier+" "+test.revision, func(t *testing.T) {
			o, spans := recording()
			transport := carriers[test.carrier](t, mcp.Chain(traced(), otelmcp.Server(o)))
			c, err := mcp.DialWith(t.Context(), transport, mcp.ClientOptions{Revision: test.revision, Middleware: []mcp.Middleware{otelmcp.Client(o)}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			spans.Reset()
			if result, err := c.CallTool(t.Context(), "fail", nil); err != nil || !result.IsError {
				t.Fatalf("%+v, %v", result, err)
			}
			ended := spans.Ended()
			if len(ended) != 2 {
				t.Fatalf("%d spans", len(ended))
			}
			sessions, ids := map[string]bool{}, map[string]bool{}
			for _, s := range ended {
				want := ofCall + test.revision + " " + test.client
				if s.SpanKind() == trace.SpanKindServer {
					address := ""
					if test.carrier != "pipe" {
						address = "client.address=127.0.0.1 client.port=N "
					}
					want = address + ofCall + test.revision + " " + test.server
				}
				if got := shown(s); got != want || s.Name() != "tools/call fail" {
					t.Errorf("%v %s:\ngot  %s\nwant %s", s.SpanKind(), s.Name(), got, want)
				}
				for _, a := range s.Attributes() {
					switch a.Key {
					case "mcp.session.id":
						sessions[a.Value.AsString()] = true
					case "jsonrpc.request.id":
						ids[a.Value.AsString()] = true
					}
				}
			}
			if len(sessions) > 1 || len(ids) != 1 {
				t.Errorf("the sides have the sessions %v and the ids %v", sessions, ids)
			}
		})
	}
}

// A gateway traces what it asks of a client whose requests have a limited time.
func TestAttributesAroundAClientThatPassesOn(t *testing.T) {
	o, spans := recording()
	c := dial(t, traced(), mcp.ClientOptions{Revision: "2026-07-28", Bridge: true, Timeout: time.Minute})
	req := mcp.NewRequest("tools/call", []byte(`{"name":"fail","arguments":{}}`))
	req.Peer, req.Meta.Capabilities = unasked{}, &mcp.ClientCapabilities{}
	if _, err := mcp.Chain(c, otelmcp.Client(o)).Handle(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	const want = "error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=fail jsonrpc.request.id=N mcp.method.name=tools/call mcp.protocol.version=2026-07-28 network.transport=pipe"
	if ended := spans.Ended(); len(ended) != 1 || shown(ended[0]) != want {
		t.Errorf("got %d spans, %s, want %s", len(ended), shown(ended[0]), want)
	}
}

// unasked is a client that is not asked anything.
type unasked struct{}

func (unasked) Notify(context.Context, string, json.RawMessage) error { return nil }

func (unasked) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, mcp.Errorf(mcp.CodeInternalError, "it is asked")
}
