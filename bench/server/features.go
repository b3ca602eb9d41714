package main

import (
	"context"
	"encoding/json"
	"log"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

type echoIn struct {
	Text string `json:"text" doc:"the text to return"`
}

type addIn struct {
	A int `json:"a" doc:"first summand"`
	B int `json:"b" doc:"second summand"`
}

type addOut struct {
	Sum int `json:"sum" doc:"the sum"`
}

type bigIn struct {
	Bytes int `json:"bytes" doc:"how many bytes of text to return" min:"0"`
}

// newServer returns a server with the features that a benchmark uses, and the given number of
// further tools.
func newServer(tools int) *mcp.Server {
	s := mcp.NewServer("junction", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "echo", Description: "Returns the text"}, func(_ context.Context, in echoIn) (string, error) { return in.Text, nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "add", Description: "Adds two integers"}, func(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil })
	big := sync.OnceValue(func() string { return text(1 << 20) })
	mcp.AddToolWith(s, mcp.Tool{Name: "big", Description: "Returns many bytes of text"}, func(_ context.Context, in bigIn) (string, error) {
		return big()[:min(in.Bytes, 1<<20)], nil
	})
	addToggle(s)
	for _, t := range generated(tools) {
		s.AddTool(t, ok)
	}
	s.AddText(mcp.Resource{URI: "bench://readme", Name: "readme", MIMEType: "text/plain"}, "read me")
	s.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Greet " + arguments["name"])}}}, nil
		})
	return s
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ok(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("ok")}}, nil
}

// addToggle registers a tool that adds another tool, or removes it if it exists.
func addToggle(s *mcp.Server) {
	var mu sync.Mutex
	var on bool
	mcp.AddToolWith(s, mcp.Tool{Name: "toggle", Description: "Adds or removes a tool"}, func(context.Context, struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if on = !on; !on {
			s.RemoveTool("extra")
			return "ok", nil
		}
		s.AddTool(mcp.Tool{Name: "extra", Description: "Comes and goes"}, ok)
		return "ok", nil
	})
}

const line = "The quick brown fox jumps over the lazy dog; \"quoted\" words and a line break.\n"

// text returns n bytes of plain text. Some of its characters are escaped in JSON.
func text(n int) string { return strings.Repeat(line, n/len(line)+1)[:n] }
