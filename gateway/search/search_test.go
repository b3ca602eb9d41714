package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/toolsearch"
)

// office returns a server with the given number of tools that do nothing, and one that makes
// events.
func office(tools int) *mcp.Server {
	s := mcp.NewServer("office", "1")
	for i := range tools {
		mcp.AddToolWith(s, mcp.Tool{Name: fmt.Sprintf("report_%d", i), Description: "Makes the quarterly report number " + fmt.Sprint(i) + " of the department, with all its tables and figures."},
			func(_ context.Context, in struct{ Year int }) (string, error) { return "", nil })
	}
	mcp.AddToolWith(s, mcp.Tool{Name: "create_event", Description: "Creates an event in the calendar."},
		func(ctx context.Context, in struct {
			Title string `json:"title"`
			Ask   bool   `json:"ask,omitempty"`
		}) (string, error) {
			if in.Ask {
				who, err := mcp.Elicit[struct{ Name string }](ctx, "With whom?")
				return in.Title + " with " + who.Name, err
			}
			return "made " + in.Title, nil
		})
	return s
}

func names(t *testing.T, c *mcp.Client) (all []string, tokens int) {
	t.Helper()
	for raw, err := range c.List(t.Context(), "tools/list", "tools") {
		if err != nil {
			t.Fatal(err)
		}
		tokens += toolsearch.Tokens(string(raw))
	}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool.Name)
	}
	return all, tokens
}

// text returns the text of a call, or its error.
func text(c *mcp.Client, tool string, arguments any) string {
	result, err := c.CallTool(context.Background(), tool, arguments)
	if err != nil {
		return "error: " + err.Error()
	}
	said := ""
	for _, block := range result.Content {
		said += block.Text
	}
	if result.IsError {
		return "failed: " + said
	}
	return said
}

func TestManyToolsAreFoundDescribedAndCalled(t *testing.T) {
	g := gateway.Route(map[string]mcp.Handler{"office": office(300), "home": office(0)})
	defer g.Close()
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := search.Middleware(search.Options{Pinned: []string{"*__report_7"}, Server: func(tool string) (string, string, string) {
		found, _ := g.Tool(tool)
		return found.Server, "of " + found.Server, found.Name
	}})(g)
	for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"Name":"Ada"}`)}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			listed, tokens := names(t, c)
			if !slices.Equal(listed, []string{"search_tools", "describe_tool", "call_tool", "office__report_7"}) || tokens > 1_000 {
				t.Errorf("listed %v, %d tokens", listed, tokens)
			}
			found := text(c, "search_tools", map[string]any{"queries": []string{"create calendar event", "quarterly report"}})
			if !strings.Contains(found, `"name":"office__create_event"`) || !strings.Contains(found, `"name":"home__create_event"`) || !strings.Contains(found, `"title"`) || !strings.Contains(found, "__report_") {
				t.Errorf("found %s", found)
			}
			if toolsearch.Tokens(found) > 1_600 {
				t.Errorf("a search costs %d tokens", toolsearch.Tokens(found))
			}
			if got := text(c, "search_tools", map[string]any{"queries": []string{"zzgl"}}); !strings.Contains(got, "nothing was found") {
				t.Errorf("found %s", got)
			}
			for _, call := range []struct {
				tool      string
				arguments any
				want      string
			}{
				{"describe_tool", map[string]any{"name": "office__create_event"}, `{"name":"office__create_event"`},
				{"describe_tool", map[string]any{"name": "none"}, `failed: there is no tool "none"`},
				{"call_tool", map[string]any{"name": "office__create_event", "arguments": map[string]any{"title": "tea"}}, "made tea"},
				{"call_tool", map[string]any{"name": "office__create_event", "arguments": `{"title":"tea"}`}, "made tea"},
				{"call_tool", map[string]any{"name": "office__create_event", "arguments": []int{1}}, "failed: arguments is not an object"},
				{"call_tool", map[string]any{"name": "office__create_event"}, "failed: title"},
				{"call_tool", map[string]any{"name": "none"}, "error:"},
				{"call_tool", map[string]any{}, "failed: name is missing"},
				{"call_tool", map[string]any{"name": "call_tool"}, "failed: call call_tool directly, not with call_tool"},
				{"call_tool", map[string]any{"name": "search_tools"}, "failed: call search_tools directly, not with call_tool"},
				{"search_tools", map[string]any{}, "failed: queries is missing"},
				{"home__create_event", map[string]any{"title": "soup"}, "made soup"},
				{"office__report_3", map[string]any{"Year": 1}, ""},
			} {
				if got := text(c, call.tool, call.arguments); !strings.HasPrefix(got, call.want) {
					t.Errorf("%s %v: %s", call.tool, call.arguments, got)
				}
			}
			if got := text(c, "call_tool", map[string]any{"name": "home__create_event", "arguments": map[string]any{"title": "tea", "ask": true}}); revision >= "2025-06-18" && got != "tea with Ada" {
				t.Errorf("a call that asks: %s", got)
			}
		})
	}
}

func TestFewToolsStayAsTheyAre(t *testing.T) {
	for _, test := range []struct {
		name  string
		o     search.Options
		tools int
		want  int
	}{
		{"few", search.Options{}, 3, 4},
		{"many", search.Options{}, 300, 3},
		{"a small budget", search.Options{Budget: 100}, 3, 3},
		{"never", search.Options{Mode: search.All}, 300, 301},
		{"always", search.Options{Mode: search.Search}, 0, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := mcp.NewClient(search.Middleware(test.o)(office(test.tools)))
			if listed, _ := names(t, c); len(listed) != test.want {
				t.Errorf("listed %v", listed)
			}
			if test.want > 3 {
				if got := text(c, "search_tools", nil); !strings.HasPrefix(got, "error:") {
					t.Errorf("search_tools is there: %s", got)
				}
			}
		})
	}
}

func TestToolsThatChangeAreFound(t *testing.T) {
	s := office(300)
	c := mcp.NewClientWith(search.Middleware(search.Options{})(s), mcp.ClientOptions{NoCache: true})
	find := func(what string) string { return text(c, "search_tools", map[string]any{"queries": []string{what}}) }
	if got := find("translate poem"); strings.Contains(got, "translate_poem") {
		t.Errorf("found %s", got)
	}
	mcp.AddToolWith(s, mcp.Tool{Name: "translate_poem", Description: "Translates a poem."}, func(context.Context, struct{}) (string, error) { return "", nil })
	if got := find("translate poem"); !strings.Contains(got, "translate_poem") {
		t.Errorf("found %s", got)
	}
	mcp.AddToolWith(s, mcp.Tool{Name: "call_tool", Description: "A server's own."}, func(context.Context, struct{}) (string, error) { return "own", nil })
	if got := text(c, "call_tool", struct{}{}); got != "own" {
		t.Errorf("the server's own: %s", got)
	}
}

// The list for clients stays small for any number of tools and servers, and for long descriptions.
func TestTheListOfManyToolsStaysUnderTwoThousandTokens(t *testing.T) {
	servers := map[string]mcp.Handler{}
	for i := range 106 {
		name := fmt.Sprintf("department-of-%c%c-%d", 'a'+i%26, 'a'+i/26, i)
		s := mcp.NewServerWith(name, "1", mcp.ServerOptions{Instructions: strings.Repeat("Use this server for everything that the department does. ", 40)})
		for j := range 5 {
			mcp.AddToolWith(s, mcp.Tool{Name: fmt.Sprintf("create_or_update_the_record_%d", j), Title: "Create or update a record",
				Description: strings.Repeat("Creates the record, or updates it where it is there already, with all its fields. ", 10)},
				func(context.Context, struct {
					Identifier string   `json:"identifier" doc:"the number of the record, as the department writes it"`
					Fields     []string `json:"fields,omitempty" doc:"which of its fields are to be changed, by their names in the schema"`
				}) (string, error) {
					return "", nil
				})
		}
		servers[name] = s
	}
	g := gateway.Route(servers)
	defer g.Close()
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	about := strings.Repeat("what the department says of itself at length ", 20)
	h := search.Middleware(search.Options{Server: func(tool string) (string, string, string) {
		found, _ := g.Tool(tool)
		return found.Server, about, found.Name
	}})(g)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		c, err := mcp.DialWith(t.Context(), stream.Pipe(h), mcp.ClientOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all, _ := names(t, mcp.NewClient(g))
		listed, tokens := names(t, c)
		if len(all) != 530 || !slices.Equal(listed, []string{"search_tools", "describe_tool", "call_tool"}) || tokens >= 2_000 {
			t.Errorf("%s: of %d tools it lists %v, %d tokens", revision, len(all), listed, tokens)
		}
		t.Logf("%s: %d tokens", revision, tokens)
	}
}

func Example() {
	h := search.Middleware(search.Options{})(office(300))
	c := mcp.NewClient(h)
	for tool := range c.Tools(context.Background()) {
		fmt.Println(tool.Name)
	}
	result, _ := c.CallTool(context.Background(), "call_tool", map[string]any{"name": "create_event", "arguments": map[string]any{"title": "tea"}})
	fmt.Println(result.Content[0].Text)
	// Output:
	// search_tools
	// describe_tool
	// call_tool
	// made tea
}

// A tool that was found and used is also found by the words of that query; one that failed is not.
func TestAQueryUnderWhichAToolWasUsedIsRemembered(t *testing.T) {
	s := office(300)
	mcp.AddToolWith(s, mcp.Tool{Name: "order_lunch", Description: "Orders a meal."}, func(context.Context, struct{}) (string, error) { return "", fmt.Errorf("the kitchen is closed") })
	h := search.Middleware(search.Options{Mode: search.Search})(s)
	ann := mcp.NewClientWith(h, mcp.ClientOptions{Name: "ann"})
	find := func(query string) string {
		return text(ann, "search_tools", map[string]any{"queries": []string{query}})
	}
	const weak = "no good match"
	if got := find("appointment"); !strings.Contains(got, weak) {
		t.Fatalf("it is found already: %s", got)
	}
	find("appointment in the calendar")
	if got := text(ann, "call_tool", map[string]any{"name": "create_event", "arguments": map[string]any{"title": "dentist"}}); got != "made dentist" {
		t.Fatal(got)
	}
	if got := find("appointment"); strings.Contains(got, weak) || !strings.Contains(got, "create_event") {
		t.Errorf("what was used is not found: %s", got)
	}
	find("sandwich as a meal")
	text(ann, "call_tool", map[string]any{"name": "order_lunch"})
	if got := find("sandwich"); !strings.Contains(got, weak) && !strings.Contains(got, "nothing was found") {
		t.Errorf("what failed is remembered: %s", got)
	}
}

func TestAToolIsFoundByItsTag(t *testing.T) {
	s := office(300)
	tag := edit.Middleware(edit.Options{Tags: func(_ edit.Kind, name string) []string {
		if name == "report_17" {
			return []string{"audited", "finance"}
		}
		return nil
	}})
	c := mcp.NewClient(search.Middleware(search.Options{Mode: search.Search})(tag(s)))
	if got := text(c, "search_tools", map[string]any{"queries": []string{"audited"}}); !strings.Contains(got, `"name":"report_17"`) || !strings.Contains(got, "(tags: audited, finance)") || strings.Contains(got, "report_16") {
		t.Errorf("found is %s", got)
	}
}
