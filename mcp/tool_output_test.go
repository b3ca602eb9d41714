package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// unit is a type with a schema of its own.
type unit string

func (unit) MCPSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["celsius","fahrenheit"]}`)
}

type measured struct {
	Degrees float64 `json:"degrees"`
	Unit    unit    `json:"unit"`
}

type plain struct {
	City  string         `json:"city"`
	Highs []float64      `json:"highs"`
	Next  *plain         `json:"next"`
	By    map[string]int `json:"by"`
	Small uint8          `json:"small"`
}

func TestOutputThatDoesNotFitItsSchemaIsAnErrorOfTheProgram(t *testing.T) {
	object := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	content := func(structured string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("text")}, StructuredContent: json.RawMessage(structured)}
	}
	raw := func(r *mcp.CallToolResult) mcp.ToolHandler {
		return func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return r, nil }
	}
	for _, test := range []struct {
		name string
		add  func(s *mcp.Server)
		want string // empty if the result is valid
	}{
		{"a nil pointer", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (*plain, error) { return nil, nil })
		}, "nil *mcp_test.plain"},
		{"a nil result", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (*mcp.CallToolResult, error) { return nil, nil })
		}, "nil *mcp.CallToolResult"},
		{"a pointer", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (*plain, error) { return &plain{}, nil })
		}, ""},
		{"the zero value", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (plain, error) { return plain{}, nil })
		}, ""},
		{"an enum of a type", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (measured, error) { return measured{21, "kelvin"}, nil })
		}, "unit"},
		{"a value of the enum", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (measured, error) { return measured{21, "celsius"}, nil })
		}, ""},
		{"an enum in a tag", func(s *mcp.Server) {
			mcp.AddTool(s, "t", func(context.Context, struct{}) (struct {
				U string `json:"u" enum:"a,b"`
			}, error) {
				return struct {
					U string `json:"u" enum:"a,b"`
				}{"zzz"}, nil
			})
		}, "u"},
		{"JSON that does not fit", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "t", OutputSchema: object}, raw(content(`{"n":"x"}`))) }, "n"},
		{"no structured content", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "t", OutputSchema: object}, raw(nil)) }, "no structured content"},
		{"JSON that fits", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "t", OutputSchema: object}, raw(content(`{"n":1}`))) }, ""},
		{"a tool that failed", func(s *mcp.Server) { s.AddTool(mcp.Tool{Name: "t", OutputSchema: object}, raw(mcp.ToolError("no"))) }, ""},
		{"a typed tool with a result of its own", func(s *mcp.Server) {
			mcp.AddToolWith(s, mcp.Tool{Name: "t", OutputSchema: object}, func(context.Context, struct{}) (*mcp.CallToolResult, error) { return content(`[]`), nil })
		}, "object"},
		{"any", func(s *mcp.Server) {
			mcp.AddToolWith(s, mcp.Tool{Name: "t", OutputSchema: object}, func(context.Context, struct{}) (any, error) { return map[string]string{"n": "x"}, nil })
		}, "n"},
		{"any that fits", func(s *mcp.Server) {
			mcp.AddToolWith(s, mcp.Tool{Name: "t", OutputSchema: object}, func(context.Context, struct{}) (any, error) { return map[string]int{"n": 1}, nil })
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			test.add(s)
			c := mcp.NewClient(s)
			defer c.Close()
			result, err := c.CallTool(t.Context(), "t", nil)
			if test.want == "" {
				if err != nil || log.Len() > 0 {
					t.Errorf("%v, %v, log %s", result, err, &log)
				}
				return
			}
			var e *mcp.Error
			if !errors.As(err, &e) || e.Code != mcp.CodeInternalError || !strings.Contains(e.Message, `tool "t"`) || !strings.Contains(e.Message, test.want) {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "tool=t") {
				t.Errorf("log %s", &log)
			}
		})
	}
}

func TestATypeSaysItsSchemaOnce(t *testing.T) {
	want := `{"type":"object","properties":{"degrees":{"type":"number"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["degrees","unit"],"additionalProperties":false}`
	if got := string(mcp.SchemaOf[measured]()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := panicOf(func() { mcp.SchemaOf[map[bool]string]() }); !strings.Contains(got, "use map[string]string") {
		t.Errorf("panic %q", got)
	}
}

func BenchmarkStructuredOutput(b *testing.B) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "certain", func(context.Context, struct{}) (plain, error) { return plain{City: "Oslo"}, nil })
	mcp.AddTool(s, "checked", func(context.Context, struct{}) (measured, error) { return measured{21, "celsius"}, nil })
	for _, name := range []string{"certain", "checked"} {
		b.Run(name, func(b *testing.B) {
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"`+name+`","arguments":{}}`))
			var buffer []byte
			for b.Loop() {
				r, err := s.Handle(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				if buffer, err = r.AppendJSON(buffer[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
