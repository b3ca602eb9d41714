package mcp_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

type weather struct {
	Degrees int    `json:"degrees" max:"60"`
	Sky     string `json:"sky"`
}

func TestOutputSaysMoreThanItsValue(t *testing.T) {
	type out = mcp.Output[weather]
	sunny := weather{21, "sunny"}
	for _, test := range []struct {
		name string
		add  func(*mcp.Server, mcp.Tool)
		want string // the result, or words of the error
	}{
		{"value alone", adding(out{Value: sunny}), `{"content":[{"type":"text","text":"{\"degrees\":21,\"sky\":\"sunny\"}"}],"structuredContent":{"degrees":21,"sky":"sunny"}}`},
		{"content", adding(out{Value: sunny, Content: []mcp.Content{mcp.Text("sun")}}), `{"content":[{"type":"text","text":"sun"}],"structuredContent":{"degrees":21,"sky":"sunny"}}`},
		{"no content", adding(out{Value: sunny, Content: []mcp.Content{}}), `{"content":[],"structuredContent":{"degrees":21,"sky":"sunny"}}`},
		{"metadata", adding(mcp.Output[string]{Value: "sun", Meta: json.RawMessage(`{"a":1}`)}), `{"content":[{"type":"text","text":"sun"}],"_meta":{"a":1}}`},
		{"failed, with a value that does not fit", adding(out{Value: weather{70, ""}, IsError: true}), `{"content":[{"type":"text","text":"{\"degrees\":70,\"sky\":\"\"}"}],"structuredContent":{"degrees":70,"sky":""},"isError":true}`},
		{"failed, without a value", adding(mcp.Output[*weather]{IsError: true, Content: []mcp.Content{mcp.Text("no sensor")}}), `{"content":[{"type":"text","text":"no sensor"}],"isError":true}`},
		{"a value that does not fit", adding(out{Value: weather{70, ""}}), "degrees: expected integer at most 60, got 70"},
		{"no value", adding(mcp.Output[*weather]{}), "nil *mcp_test.weather"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mcp.NewServer("s", "1")
			test.add(s, mcp.Tool{Name: "t"})
			if got := string(s.Tool("t").OutputSchema); strings.Contains(test.want, "degrees") != strings.Contains(got, `"degrees"`) && !strings.Contains(test.want, "sensor") && !strings.Contains(test.want, "nil") {
				t.Errorf("output schema %s", got)
			}
			result, err := mcp.NewClient(s).CallTool(t.Context(), "t", nil)
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Error(err)
				}
				return
			}
			if result.Meta = withoutServer(result.Meta); string(result.Meta) == "{}" {
				result.Meta = nil
			}
			if got, err := result.MarshalJSON(); err != nil || string(got) != test.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, test.want)
			}
		})
	}
}

// adding registers a tool that returns out.
func adding[Out any](out Out) func(*mcp.Server, mcp.Tool) {
	return func(s *mcp.Server, t mcp.Tool) {
		mcp.AddToolWith(s, t, func(context.Context, struct{}) (Out, error) { return out, nil })
	}
}

func withoutServer(meta json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(meta, &members)
	delete(members, "io.modelcontextprotocol/serverInfo")
	text, _ := json.Marshal(members)
	return text
}

func TestTextOnlyHasNoStructuredContent(t *testing.T) {
	for _, test := range []struct {
		add  func(*mcp.Server, mcp.Tool)
		want string
	}{
		{adding(weather{70, "hot"}), `{"degrees":70,"sky":"hot"}`},
		{adding(&weather{21, "sunny"}), `{"degrees":21,"sky":"sunny"}`},
		{adding(mcp.Output[weather]{Value: weather{21, "sunny"}}), `{"degrees":21,"sky":"sunny"}`},
		{adding([]int{1, 2}), `[1,2]`},
		{adding("text"), "text"},
		{adding(report{"sunny"}), "a report: sunny"},
	} {
		eachEra(t, test.want, func(s *mcp.Server) { test.add(s, mcp.Tool{Name: "t", TextOnly: true}) }, func(t *testing.T, c *mcp.Client, tool *mcp.Tool) {
			result, err := c.CallTool(t.Context(), "t", nil)
			if err != nil || tool.OutputSchema != nil || result.StructuredContent != nil || result.Text() != test.want {
				t.Errorf("%s, %v, structured %s, schema %s", result.Text(), err, result.StructuredContent, tool.OutputSchema)
			}
		})
	}
	if got := panicOf(func() {
		adding(weather{})(mcp.NewServer("s", "1"), mcp.Tool{Name: "t", TextOnly: true, OutputSchema: json.RawMessage(`{}`)})
	}); !strings.Contains(got, "no structured content") {
		t.Errorf("panic %q", got)
	}
}

// report has a method that returns its content for a model.
type report struct{ sky string }

func (r report) Content() []mcp.Content { return []mcp.Content{mcp.Text("a report: " + r.sky)} }

// money is a type of another module, with JSON methods.
type money struct{ cents int }

func (m money) MarshalJSON() ([]byte, error)  { return json.Marshal(float64(m.cents) / 100) }
func (m *money) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &m.cents) }

func TestTypesOfOthersHaveTheSchemasGiven(t *testing.T) {
	type order struct {
		Price money   `json:"price"`
		Was   []money `json:"was,omitempty"`
	}
	schemas := mcp.TypeSchemas{reflect.TypeFor[money](): json.RawMessage(`{"type":"number","minimum":0}`)}
	want := `{"type":"object","properties":{"price":{"type":"number","minimum":0},"was":{"type":"array","items":{"type":"number","minimum":0}}},"required":["price"],"additionalProperties":false}`
	if got := string(mcp.SchemaWith[order](schemas)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{TypeSchemas: schemas})
	mcp.AddTool(s, "t", func(_ context.Context, in order) (order, error) { return in, nil })
	if tool := s.Tool("t"); string(tool.InputSchema) != want || string(tool.OutputSchema) != want {
		t.Errorf("input %s\noutput %s", tool.InputSchema, tool.OutputSchema)
	}
	if s.Tool("other") != nil {
		t.Error("a tool that was not registered")
	}
	result, err := mcp.NewClient(s).CallTool(t.Context(), "t", json.RawMessage(`{"price":-1}`))
	if err != nil || !strings.Contains(result.Text(), "price: expected number at least 0, got -1") {
		t.Errorf("%s, %v", result.Text(), err)
	}
	if got := panicOf(func() { mcp.SchemaWith[order](mcp.TypeSchemas{reflect.TypeFor[money](): json.RawMessage(`{`)}) }); !strings.Contains(got, "the schema that mcp_test.money was given") {
		t.Errorf("panic %q", got)
	}
}
