package traces

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/otlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Kind                                int
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
	Events, Links []map[string]any
	Status        struct {
		Code    int
		Message string
	}
}

func TestSpansReachACollector(t *testing.T) {
	var got []span
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
				ScopeSpans []struct {
					Scope struct{ Name string }
					Spans []span
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.Header.Get("Api-Key") != "k" {
			t.Errorf("%v %v", err, r.Header)
		}
		for _, rs := range request.ResourceSpans {
			if a := rs.Resource.Attributes; len(a) != 1 || a[0].Key != "service.name" || a[0].Value.StringValue != "test" {
				t.Errorf("the resource is %v", a)
			}
			for _, s := range rs.ScopeSpans {
				if s.Scope.Name != "scope" {
					t.Errorf("the scope is %q", s.Scope.Name)
				}
				got = append(got, s.Spans...)
			}
		}
	}))
	defer server.Close()
	p, err := Provider(server.URL, Options{Service: "test", Header: http.Header{"Api-Key": {"k"}}})
	if err != nil {
		t.Fatal(err)
	}
	tracer := p.Tracer("scope")
	ctx, outer := tracer.Start(t.Context(), "outer", trace.WithSpanKind(trace.SpanKindServer))
	_, inner := tracer.Start(ctx, "inner", trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(trace.Link{SpanContext: outer.SpanContext()}),
		trace.WithAttributes(attribute.String("s", `a"b`), attribute.Int("n", 1<<53+1), attribute.Bool("b", true), attribute.Float64("f", 0.5), attribute.StringSlice("l", []string{"x", "y"})))
	inner.AddEvent("seen", trace.WithAttributes(attribute.String("why", "it was there")))
	inner.SetStatus(codes.Error, "it failed")
	inner.End()
	outer.SetStatus(codes.Ok, "")
	outer.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(got) != 2 {
		t.Fatalf("the collector got %+v", got)
	}
	in, out := got[0], got[1]
	if in.Name != "inner" || in.Kind != 3 || in.ParentSpanID != out.SpanID || in.TraceID != outer.SpanContext().TraceID().String() || in.Status.Code != 2 || in.Status.Message != "it failed" || len(in.Links) != 1 || len(in.Events) != 1 || in.StartTimeUnixNano > in.EndTimeUnixNano {
		t.Errorf("inner is %+v", in)
	}
	if out.Name != "outer" || out.Kind != 2 || out.ParentSpanID != "" || out.Status.Code != 1 {
		t.Errorf("outer is %+v", out)
	}
	attributes, _ := json.Marshal(in.Attributes)
	if want := `[{"Key":"s","Value":{"stringValue":"a\"b"}},{"Key":"n","Value":{"intValue":"9007199254740993"}},{"Key":"b","Value":{"boolValue":true}},{"Key":"f","Value":{"doubleValue":0.5}},{"Key":"l","Value":{"stringValue":"[\"x\",\"y\"]"}}]`; string(attributes) != want {
		t.Errorf("the attributes are %s", attributes)
	}
}

func TestACollectorThatRefusesIsAnError(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", status) }))
	defer server.Close()
	e, err := Exporter(server.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ExportSpans(context.Background(), []sdk.ReadOnlySpan{}); err == nil || !strings.Contains(err.Error(), "503") || errors.Is(err, otlp.ErrUnwanted) {
		t.Error(err)
	}
	status = http.StatusBadRequest
	if err := e.ExportSpans(context.Background(), nil); !errors.Is(err, otlp.ErrUnwanted) {
		t.Error(err)
	}
	for _, endpoint := range []string{"", "localhost:4318", "ftp://host/"} {
		if _, err := Provider(endpoint, Options{}); err == nil {
			t.Errorf("%q is an endpoint", endpoint)
		}
	}
}
