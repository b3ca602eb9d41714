package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/toolsearch"
)

// A finder finds tools for a query, best first.
type finder func(query string, limit int) toolsearch.Results

// finderOf returns a finder that searches an index.
func finderOf(x *toolsearch.Index) finder {
	return func(query string, limit int) toolsearch.Results {
		return x.Search(context.Background(), toolsearch.Query{Text: query, Limit: limit})
	}
}

// throughGateway serves the tools behind a gateway that searches. It measures the tokens of the
// list that clients get, and the results of search_tools. That tool returns at most five hits, and
// fewer if their definitions are long.
func (s *set) throughGateway() (r *report, err error) {
	g := gateway.New(gateway.Options{})
	defer g.Close()
	refused := 0
	whole := map[string]string{} // full names of servers, by their shortened names
	for i, name := range s.servers {
		server := mcp.NewServerWith(cmp.Or(name, "tools"), "1", mcp.ServerOptions{Instructions: s.about[name]})
		for _, t := range s.tools[name] {
			err := server.SetTool(mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema}, nothing)
			if err != nil {
				refused++ // its schema is invalid
			}
		}
		short := cmp.Or(name, "tools")
		if len([]rune(name)) > 40 {
			short = fmt.Sprintf("%.30s %d", name, i)
		}
		whole[short] = name
		if err := g.AddHandler(short, server); err != nil {
			return nil, err
		}
	}
	ids := map[string]string{} // ids of tools, by server and name
	for _, name := range s.servers {
		for _, t := range s.tools[name] {
			ids[name+"\x00"+t.Name] = t.ID
		}
	}
	client := mcp.NewClient(search.Middleware(search.Options{Mode: search.Search, Server: func(tool string) (string, string, string) {
		t, _ := g.Tool(tool)
		return whole[t.Server], s.about[whole[t.Server]], t.Name
	}})(g))
	r = &report{Servers: len(s.servers)}
	for raw, err := range client.List(context.Background(), "tools/list", "tools") {
		if err != nil {
			return nil, err
		}
		r.AlwaysTokens += toolsearch.Tokens(string(raw))
	}
	for range ids {
		r.Tools++
	}
	r.Tools -= refused
	find := func(query string, _ int) (found toolsearch.Results) {
		result, failed := client.CallTool(context.Background(), "search_tools", map[string][]string{"queries": {query}})
		if failed != nil {
			err = failed
			return found
		}
		found.Weak = strings.Contains(result.Text(), "no good match") || strings.Contains(result.Text(), "nothing was found")
		for line := range strings.Lines(result.Text()) {
			var t struct{ Name string }
			if json.Unmarshal([]byte(line), &t) == nil && t.Name != "" {
				at, _ := g.Tool(t.Name)
				found.Hits = append(found.Hits, toolsearch.Hit{ID: ids[whole[at.Server]+"\x00"+at.Name]})
			}
		}
		return found
	}
	r.Rows = s.rows(find, shown)
	return r, err
}

func nothing(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
}

// printGateway prints the measurements through a gateway.
func (r *report) printGateway() error {
	_, err := fmt.Printf("%s, through a gateway: %d tools of %d servers; the list has %d tokens\n", r.Set, r.Tools, r.Servers, r.AlwaysTokens)
	if err == nil {
		err = r.printRows()
	}
	return err
}
