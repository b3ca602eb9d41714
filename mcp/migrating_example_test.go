package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"

	"github.com/junction-mcp/junction/mcp"
)

// An Output adds a text and metadata to a value.
func ExampleOutput() {
	type Forecast struct {
		Degrees int `json:"degrees"`
	}
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", func(context.Context, struct{}) (mcp.Output[Forecast], error) {
		return mcp.Output[Forecast]{
			Value:   Forecast{21},
			Content: []mcp.Content{mcp.Text("21 °C, sunny")},
			Meta:    json.RawMessage(`{"com.example/station":"Blindern"}`),
		}, nil
	})
	result, err := mcp.NewClient(s).CallTool(context.Background(), "forecast", nil)
	fmt.Println(result.Text(), string(result.StructuredContent), err)
	// Output: 21 °C, sunny {"degrees":21} <nil>
}

// The model reads a struct as JSON; there is no structured content and no output schema.
func ExampleTool_textOnly() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddToolWith(s, mcp.Tool{Name: "forecast", TextOnly: true}, func(context.Context, struct{}) (map[string]int, error) {
		return map[string]int{"Oslo": 21, "Bergen": 14}, nil
	})
	result, err := mcp.NewClient(s).CallTool(context.Background(), "forecast", nil)
	fmt.Println(result.Text(), len(result.StructuredContent), len(s.Tool("forecast").OutputSchema), err)
	// Output: {"Bergen":14,"Oslo":21} 0 0 <nil>
}

// big.Int of another module has methods that do not describe its JSON.
func ExampleSchemaWith() {
	fmt.Println(string(mcp.SchemaWith[struct {
		Amount *big.Int `json:"amount" required:"true"`
	}](mcp.TypeSchemas{reflect.TypeFor[big.Int](): json.RawMessage(`{"type":"integer"}`)})))
	// Output: {"type":"object","properties":{"amount":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["amount"],"additionalProperties":false}
}

// Middleware corrects the arguments before they are validated.
func ExampleRequest_WithArguments() {
	s := mcp.NewServer("files", "1.0")
	mcp.AddTool(s, "read", func(_ context.Context, in struct{ Path string }) (string, error) { return "read " + in.Path, nil })
	mended := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			var old struct{ File string }
			if req.Name == "read" && json.Unmarshal(req.Arguments, &old) == nil && old.File != "" {
				arguments, err := json.Marshal(map[string]string{"Path": old.File})
				if err != nil {
					return mcp.Result{}, err
				}
				req = req.WithArguments(arguments)
			}
			return next.Handle(ctx, req)
		})
	}
	text, err := mcp.Call[string](context.Background(), mcp.NewClient(mcp.Chain(s, mended)), "read", map[string]string{"file": "a.txt"})
	fmt.Println(text, err)
	// Output: read a.txt <nil>
}

// The Handler sends log records to the client of the request.
func ExampleLogHandler() {
	s := mcp.NewServer("deploy", "1.0")
	log := slog.New(mcp.LogHandler("deploy")).With("cluster", "eu")
	mcp.AddTool(s, "deploy", func(ctx context.Context, in struct{ Service string }) (string, error) {
		log.WarnContext(ctx, "slow", "service", in.Service)
		log.DebugContext(ctx, "not asked for")
		return "done", nil
	})
	c := mcp.NewClientWith(s, mcp.ClientOptions{OnLog: func(m mcp.LogMessage) { fmt.Println(m.Level, m.Logger, string(m.Data)) }})
	_, err := c.CallTool(context.Background(), "deploy", map[string]string{"Service": "web"})
	fmt.Println(err)
	// Output:
	// warning deploy {"cluster":"eu","msg":"slow","service":"web"}
	// <nil>
}
