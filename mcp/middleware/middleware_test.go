package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/stream"
)

// record sends one request through Log and returns the record without the time.
func record(t *testing.T, ctx context.Context, o middleware.LogOptions, req *mcp.Request, h mcp.HandlerFunc) (map[string]any, mcp.Result, error) {
	t.Helper()
	var out bytes.Buffer
	o.Logger = slog.New(slog.NewJSONHandler(&out, nil))
	result, err := mcp.Chain(h, middleware.Log(o)).Handle(ctx, req)
	if out.Len() == 0 {
		return nil, result, err
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}
	delete(line, "time")
	return line, result, err
}

func TestOutcomeAndLevelOfARequest(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the client is gone"))
	late, stop := context.WithCancelCause(context.Background())
	stop(fmt.Errorf("no sign of life: %w", context.DeadlineExceeded))
	type line = map[string]any
	for _, test := range []struct {
		name   string
		ctx    context.Context
		result mcp.Result
		err    error
		want   line // in addition to method, name, duration and params_bytes
	}{
		{"a result as bytes", nil, mcp.Result{JSON: json.RawMessage(`{"content":[]}`)}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 14.0}},
		{"a result as a value", nil, mcp.Result{Value: &mcp.CallToolResult{}}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 14.0}},
		{"no result at all", nil, mcp.Result{}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 2.0}},
		{"a tool error as bytes", nil, mcp.Result{JSON: json.RawMessage(`{"isError":true}`)}, nil, line{"level": "WARN", "outcome": "tool_error", "result_bytes": 16.0}},
		{"a tool error as a value", nil, mcp.Result{Value: mcp.ToolError("no")}, nil, line{"level": "WARN", "outcome": "tool_error", "result_bytes": 56.0}},
		{"no tool error", nil, mcp.Result{JSON: json.RawMessage(`{"isError":false}`)}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 17.0}},
		{"a tool error in the text", nil, mcp.Result{JSON: json.RawMessage(`{"a":{"isError":true}}`)}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 22.0}},
		{"the client's fault", nil, mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "secret"), line{"level": "WARN", "outcome": "error", "code": -32602.0}},
		{"the server's fault", nil, mcp.Result{}, errors.New("disk full\n\x1b[2J"), line{"level": "ERROR", "outcome": "error", "code": -32603.0, "error": `disk full \x1b[2J`}},
		{"a request to the client", nil, mcp.Result{}, fmt.Errorf("asking: %w", mcp.ErrInputRequired), line{"level": "INFO", "outcome": "input_required"}},
		{"a request from upstream", nil, mcp.Result{Type: "input_required"}, nil, line{"level": "INFO", "outcome": "input_required", "result_bytes": 2.0}},
		{"cancelled", cancelled, mcp.Result{}, context.Canceled, line{"level": "INFO", "outcome": "cancelled"}},
		{"done though cancelled", cancelled, mcp.Result{}, nil, line{"level": "INFO", "outcome": "ok", "result_bytes": 2.0}},
		{"out of time", late, mcp.Result{}, context.Cause(late), line{"level": "ERROR", "outcome": "error", "code": -32603.0, "error": "no sign of life: context deadline exceeded"}},
		{"a result that cannot be encoded", nil, mcp.Result{Value: func() {}}, nil, line{"level": "INFO", "outcome": "ok"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := test.ctx
				if ctx == nil {
					ctx = t.Context()
				}
				req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"x"}`))
				got, result, err := record(t, ctx, middleware.LogOptions{}, req, func(context.Context, *mcp.Request) (mcp.Result, error) {
					time.Sleep(time.Second)
					return test.result, test.err
				})
				if err != test.err || result.Type != test.result.Type {
					t.Errorf("passed on %+v, %v", result, err)
				}
				want := line{"msg": "mcp request", "method": "tools/call", "name": "x", "duration": 1e9, "params_bytes": 12.0}
				maps.Copy(want, test.want)
				if text, _ := got["error"].(string); want["error"] == nil && strings.HasPrefix(text, "the result cannot be encoded: ") {
					delete(got, "error")
				}
				if !maps.Equal(got, want) {
					t.Errorf("logged %v\nwant   %v", got, want)
				}
			})
		})
	}
}

func TestCallersAreLogged(t *testing.T) {
	req := mcp.NewRequest("resources/read", json.RawMessage(`{"uri":"https://u:secret@example.com/a?token=secret"}`))
	req.Principal = &mcp.Principal{Subject: "ada"}
	req.Meta = mcp.Meta{Client: &mcp.Implementation{Name: "host\n" + strings.Repeat("x", 500), Version: "1"}, Revision: "2026-07-28"}
	got, _, _ := record(t, t.Context(), middleware.LogOptions{}, req, func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{}, nil
	})
	if got["name"] != "https://***@example.com/a?***" || got["subject"] != "ada" || got["revision"] != "2026-07-28" {
		t.Errorf("logged %v", got)
	}
	if client, _ := got["client"].(string); len([]rune(client)) != 200 || !strings.HasPrefix(client, "host xx") {
		t.Errorf("client %q", client)
	}
}

func TestPayloadIsLoggedOnlyWhenAskedFor(t *testing.T) {
	params := json.RawMessage(`{"name":"x","arguments":{"password":"hunter2"}}`)
	answer := func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"hunter3"}]}`)}, nil
	}
	for _, test := range []struct {
		name           string
		o              middleware.LogOptions
		params, result any
	}{
		{"by default", middleware.LogOptions{}, nil, nil},
		{"with Redact but without Payload", middleware.LogOptions{Redact: func(_ *mcp.Request, d json.RawMessage) json.RawMessage { return d }}, nil, nil},
		{"with Payload", middleware.LogOptions{Payload: true}, string(params), `{"content":[{"type":"text","text":"hunter3"}]}`},
		{"cut", middleware.LogOptions{Payload: true, MaxPayload: 10}, `{"name":"…`, `{"content…`},
		{"with nothing left", middleware.LogOptions{Payload: true, Redact: func(*mcp.Request, json.RawMessage) json.RawMessage { return nil }}, nil, nil},
	} {
		got, _, _ := record(t, t.Context(), test.o, mcp.NewRequest("tools/call", params), answer)
		if got["params"] != test.params || got["result"] != test.result {
			t.Errorf("%s: logged %v", test.name, got)
		}
	}
}

func TestLevelDecidesWhetherARequestIsLogged(t *testing.T) {
	quiet := middleware.LogOptions{Level: func(mcp.Outcome, error) slog.Level { return slog.LevelDebug }}
	value := &mcp.CallToolResult{}
	got, result, _ := record(t, t.Context(), quiet, mcp.NewRequest("tools/call", nil), func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{Value: value}, nil
	})
	if got != nil || result.JSON != nil || result.Value != value {
		t.Errorf("logged %v, passed on %+v", got, result)
	}
}

// A client over the wire gets the same results with middleware on both sides.
func TestMiddlewareOnBothSidesChangesNothing(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		var server, client bytes.Buffer
		log := func(out *bytes.Buffer) mcp.Middleware {
			return middleware.Log(middleware.LogOptions{Logger: slog.New(slog.NewJSONHandler(out, nil))})
		}
		h := mcp.Chain(weather(), log(&server), middleware.Recover(nil))
		c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision, Middleware: []mcp.Middleware{log(&client)}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := mcp.Call[string](t.Context(), c, "forecast", city{"Oslo"}); got != "rain" || err != nil {
			t.Errorf("%s: %q, %v", revision, got, err)
		}
		var fault *mcp.Error
		if _, err := c.CallTool(t.Context(), "forecats", nil); !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams {
			t.Errorf("%s: %v", revision, err)
		}
		c.Close()
		if got := strings.Count(client.String(), "\n"); got != 2 {
			t.Errorf("%s: the client logged %s", revision, client.String())
		}
		if !strings.Contains(server.String(), `"revision":"`+revision+`","outcome":"ok"`) || !strings.Contains(server.String(), `"code":-32602`) {
			t.Errorf("%s: the server logged %s", revision, server.String())
		}
	}
}

func TestPanicCostsOneRequest(t *testing.T) {
	var out bytes.Buffer
	h := mcp.Chain(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			panic("assignment to entry in nil map")
		}
		return mcp.Result{JSON: json.RawMessage(`{}`)}, nil
	}), middleware.Recover(slog.New(slog.NewTextHandler(&out, nil))))
	result, err := h.Handle(t.Context(), mcp.NewRequest("tools/call", nil))
	var fault *mcp.Error
	if !errors.As(err, &fault) || fault.Code != mcp.CodeInternalError || strings.Contains(err.Error(), "nil map") || result.JSON != nil {
		t.Errorf("%+v, %v", result, err)
	}
	if !strings.Contains(out.String(), "assignment to entry in nil map") || !strings.Contains(out.String(), "middleware_test.go") {
		t.Errorf("logged %s", out.String())
	}
	if _, err := h.Handle(t.Context(), mcp.NewRequest("tools/list", nil)); err != nil {
		t.Error(err)
	}
}
