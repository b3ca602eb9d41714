package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/stream"
)

// answering returns a tool that returns its own name.
func answering(name string) mcp.ToolHandler {
	return func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("this is " + name)}}, nil
	}
}

func serverOf(page int, names ...string) *mcp.Server {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{PageSize: page})
	for _, name := range names {
		s.AddTool(mcp.Tool{Name: name, Description: "Says " + name}, answering(name))
	}
	return s
}

// inBothEras runs the test with a client of each era behind a transport.
func inBothEras(t *testing.T, h func() mcp.Handler, test func(t *testing.T, c *mcp.Client)) {
	for _, revision := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(revision, func(t *testing.T) {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(h()), mcp.ClientOptions{Revision: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			test(t, c)
		})
	}
}

func listed(t *testing.T, c *mcp.Client) string {
	t.Helper()
	var list []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool.Name+": "+tool.Description)
	}
	return strings.Join(list, ", ")
}

func called(t *testing.T, c *mcp.Client, name string) string {
	t.Helper()
	text, err := mcp.Call[string](t.Context(), c, name, nil)
	if err != nil {
		return mcp.ErrorOf(err).Message
	}
	return text
}

func TestEditToolsRedescribesAndHides(t *testing.T) {
	edit := middleware.EditTools(func(tool *mcp.Tool) bool {
		if tool.Name == "a" {
			tool.Description = "Says what it is called."
		}
		return tool.Name != "secret"
	})
	h := func() mcp.Handler { return mcp.Chain(serverOf(1, "a", "b", "secret"), edit) }
	inBothEras(t, h, func(t *testing.T, c *mcp.Client) {
		if got := called(t, c, "secret"); !strings.Contains(got, `unknown tool "secret"`) { // before a list request
			t.Errorf("a hidden tool says %q", got)
		}
		if got, want := listed(t, c), "a: Says what it is called., b: Says b"; got != want {
			t.Errorf("tools %q, want %q", got, want)
		}
		for name, want := range map[string]string{"a": "this is a", "secret": "unknown tool", "none": "unknown tool"} {
			if got := called(t, c, name); !strings.Contains(got, want) {
				t.Errorf("%s says %q", name, got)
			}
		}
	})
}

func TestEditToolsKeepsUnknownMembers(t *testing.T) {
	body := json.RawMessage(`{"tools":[{"name":"a","description":"old","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"b","inputSchema":{"type":"object"},"z":1}],"x":2}`)
	h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: body, Meta: json.RawMessage(`{"m":1}`), TTL: 5}, nil
	}), middleware.EditTools(func(tool *mcp.Tool) bool {
		if tool.Name == "a" {
			tool.Name, tool.Description = "renamed", "new"
		}
		return true
	}))
	got, err := h.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
	want := `{"x":2,"tools":[{"execution":{"taskSupport":"optional"},"name":"a","description":"new","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"},"z":1}]}`
	if err != nil || string(got.JSON) != want || string(got.Meta) != `{"m":1}` || got.TTL != 5 {
		t.Errorf("got  %s, %v\nwant %s", got.JSON, err, want)
	}
}

func TestRenameToolsGivesThemOtherNames(t *testing.T) {
	rename := middleware.RenameTools(map[string]string{"a": "b", "b": "a", "c": "d"})
	h := func() mcp.Handler { return mcp.Chain(serverOf(2, "a", "b", "c"), rename) }
	inBothEras(t, h, func(t *testing.T, c *mcp.Client) {
		if got, want := listed(t, c), "b: Says a, a: Says b, d: Says c"; got != want {
			t.Errorf("tools %q, want %q", got, want)
		}
		for name, want := range map[string]string{"a": "this is b", "b": "this is a", "d": "this is c", "c": `unknown tool "c"`} {
			if got := called(t, c, name); !strings.Contains(got, want) {
				t.Errorf("%s says %q", name, got)
			}
		}
	})
}

func TestMissingToolsAreUnknownUnderTheSentName(t *testing.T) {
	h := func() mcp.Handler {
		return mcp.Chain(serverOf(2, "x", "b"),
			middleware.RenameTools(map[string]string{"a": "hidden", "nowhere": "missing"}), middleware.RenameTools(map[string]string{"x": "a"}),
			middleware.EditTools(func(tool *mcp.Tool) bool { return tool.Name != "x" }))
	}
	inBothEras(t, h, func(t *testing.T, c *mcp.Client) {
		for _, name := range []string{"hidden", "missing"} {
			if got, want := called(t, c, name), fmt.Sprintf("unknown tool %q; tools/list names those that exist", name); !strings.Contains(got, want) {
				t.Errorf("%s says %q, want %q", name, got, want)
			}
		}
	})
}

func TestAddToolsPutsThoseOfAnotherHandlerAmongThem(t *testing.T) {
	for _, test := range []struct {
		name string
		own  *mcp.Server
		want string
	}{
		{"to some", serverOf(1, "a", "b"), "a: Says a, b: Says b, x: Says x, y: Says y"},
		{"in place of one", serverOf(1, "a", "x"), "a: Says a, x: Says x, y: Says y"},
		{"to none", mcp.NewServer("s", "1"), "x: Says x, y: Says y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := func() mcp.Handler {
				return mcp.Chain(test.own, middleware.AddTools(mcp.NewClient(serverOf(1, "x", "y"))))
			}
			inBothEras(t, h, func(t *testing.T, c *mcp.Client) {
				if got := called(t, c, "x"); got != "this is x" { // before a list request
					t.Errorf("x says %q", got)
				}
				if c.Capabilities().Tools == nil {
					t.Errorf("capabilities %+v", c.Capabilities())
				}
				if got := listed(t, c); got != test.want {
					t.Errorf("tools %q, want %q", got, test.want)
				}
				if got := called(t, c, "y"); got != "this is y" {
					t.Errorf("y says %q", got)
				}
				if got := called(t, c, "none"); !strings.Contains(got, "none") && !strings.Contains(got, "unknown method") {
					t.Errorf("a tool of neither says %q", got)
				}
			})
		})
	}
}

func TestAddToolsNotifiesOfBothLists(t *testing.T) {
	for _, of := range []int{0, 1} {
		both := []*mcp.Server{serverOf(10, "a"), serverOf(10, "x")}
		h := func() mcp.Handler { return mcp.Chain(both[0], middleware.AddTools(both[1])) }
		n := 0
		inBothEras(t, h, func(t *testing.T, c *mcp.Client) {
			n++
			ctx, cancel := context.WithCancel(t.Context())
			lists := 0
			for tools, err := range c.WatchTools(ctx) {
				if err != nil {
					t.Error(err)
				}
				if lists++; lists == 1 {
					both[of].AddTool(mcp.Tool{Name: fmt.Sprint("new", n)}, answering("new"))
				}
				if slices.ContainsFunc(tools, func(tool *mcp.Tool) bool { return tool.Name == fmt.Sprint("new", n) }) {
					break
				}
			}
			cancel()
		})
	}
}

// A few lines change the description of a tool of another server.
func ExampleEditTools() {
	redescribe := middleware.EditTools(func(t *mcp.Tool) bool {
		if t.Name == "forecast" {
			t.Description = "Weather of the next two weeks, for cities in Norway only."
		}
		return t.Name != "reset"
	})
	c := mcp.NewClientWith(weather(), mcp.ClientOptions{Middleware: []mcp.Middleware{redescribe}})
	defer c.Close()
	for t := range c.Tools(context.Background()) {
		fmt.Println(t.Name, "-", t.Description)
	}
	// Output: forecast - Weather of the next two weeks, for cities in Norway only.
}

func ExampleRenameTools() {
	h := mcp.Chain(weather(), middleware.RenameTools(map[string]string{"forecast": "weather_forecast"}))
	c := mcp.NewClient(h)
	defer c.Close()
	text, err := mcp.Call[string](context.Background(), c, "weather_forecast", city{"Oslo"})
	fmt.Println(text, err)
	// Output: rain <nil>
}

func ExampleAddTools() {
	more := mcp.NewServer("more", "1.0")
	mcp.AddTool(more, "sunrise", func(context.Context, city) (string, error) { return "06:12", nil })
	c := mcp.NewClient(mcp.Chain(weather(), middleware.AddTools(more)))
	defer c.Close()
	for t := range c.Tools(context.Background()) {
		fmt.Println(t.Name)
	}
	// Output:
	// forecast
	// sunrise
}
