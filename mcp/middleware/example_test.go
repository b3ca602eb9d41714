package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

type city struct {
	City string `json:"city"`
}

func weather() *mcp.Server {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", func(_ context.Context, in city) (string, error) {
		if in.City != "Oslo" {
			return "", fmt.Errorf("no city is called %s", in.City)
		}
		return "rain", nil
	})
	return s
}

// logger returns a logger without the attributes that differ from run to run.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}}))
}

// The server logs its requests, but not their arguments.
func ExampleLog() {
	h := mcp.Chain(weather(), middleware.Log(middleware.LogOptions{Logger: logger()}))
	c := mcp.NewClientWith(h, mcp.ClientOptions{Info: mcp.Implementation{Name: "host", Version: "2"}})
	defer c.Close()
	for _, name := range []string{"Oslo", "Atlantis"} {
		c.CallTool(context.Background(), "forecast", city{name})
	}
	c.CallTool(context.Background(), "forecats", nil)
	// Output:
	// level=INFO msg="mcp request" method=server/discover client=host/2 outcome=ok params_bytes=0 result_bytes=95
	// level=INFO msg="mcp request" method=tools/call name=forecast client=host/2 outcome=ok params_bytes=47 result_bytes=43
	// level=WARN msg="mcp request" method=tools/call name=forecast client=host/2 outcome=tool_error params_bytes=51 result_bytes=80
	// level=WARN msg="mcp request" method=tools/call name=forecats client=host/2 outcome=error code=-32602 params_bytes=19
}

// Arguments and results are logged on demand, after Redact.
func ExampleLog_payload() {
	log := middleware.Log(middleware.LogOptions{
		Logger:  logger(),
		Payload: true,
		Redact: func(req *mcp.Request, data json.RawMessage) json.RawMessage {
			if req.Name == "forecast" {
				return data
			}
			return nil // other data may be secret
		},
	})
	c := mcp.NewClientWith(weather(), mcp.ClientOptions{Middleware: []mcp.Middleware{log}})
	defer c.Close()
	c.CallTool(context.Background(), "forecast", city{"Oslo"})
	c.Do(context.Background(), "resources/list", nil)
	// Output:
	// level=INFO msg="mcp request" method=tools/call name=forecast client=junction/0.1.0 outcome=ok params_bytes=47 params="{\"name\":\"forecast\",\"arguments\":{\"city\":\"Oslo\"}}" result_bytes=43 result="{\"content\":[{\"type\":\"text\",\"text\":\"rain\"}]}"
	// level=WARN msg="mcp request" method=resources/list client=junction/0.1.0 outcome=error code=-32601 params_bytes=0
}

func ExampleRecover() {
	broken := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		panic("the secret is 42")
	})
	h := mcp.Chain(broken, middleware.Recover(logger()))
	_, err := h.Handle(context.Background(), mcp.NewRequest("tools/list", nil))
	fmt.Println(err)
	// Output:
	// level=ERROR msg="mcp handler panicked" method=tools/list panic="the secret is 42"
	// tools/list failed: the server's handler panicked (code -32603)
}

// Only some users have the tool.
func ExampleEditToolsFor() {
	s := weather()
	mcp.AddTool(s, "reset", func(context.Context, struct{}) (string, error) { return "reset", nil })
	h := mcp.Chain(s, middleware.EditToolsFor(func(_ context.Context, req *mcp.Request, t *mcp.Tool) bool {
		return t.Name != "reset" || req.Principal != nil && req.Principal.Subject == "root"
	}))
	for _, user := range []string{"ann", "root"} {
		req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"reset"}`))
		req.Principal = &mcp.Principal{Subject: user}
		_, err := h.Handle(context.Background(), req)
		req = mcp.NewRequest("tools/list", nil)
		req.Principal = &mcp.Principal{Subject: user}
		list, _ := h.Handle(context.Background(), req)
		tools, _ := list.ListTools()
		fmt.Println(user, len(tools.Tools), err)
	}
	// Output:
	// ann 1 unknown tool "reset"; tools/list names those that exist (code -32602)
	// root 2 <nil>
}
