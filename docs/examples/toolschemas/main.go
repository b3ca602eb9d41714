// Toolschemas adds one tool in five ways: with the schemas of its types, with schemas written by
// hand, and with inferred schemas that are changed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

// Person is the person to greet.
type Person struct {
	Name string `json:"name" doc:"the person to greet"`
}

// Greeting is the result of the tool.
type Greeting struct {
	Greeting string `json:"greeting" doc:"the greeting to send to the user"`
}

var (
	input  = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":10}}}`)
	output = json.RawMessage(`{"type":"object","properties":{"greeting":{"type":"string"}}}`)
)

func greet(_ context.Context, p Person) (Greeting, error) { return Greeting{"Hi " + p.Name}, nil }

// greetRaw gets arguments that match the input schema. Its result is checked against the output
// schema.
func greetRaw(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	var p Person
	if err := json.Unmarshal(arguments, &p); err != nil {
		return nil, err
	}
	greeting, err := json.Marshal(Greeting{"Hi " + p.Name})
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(greeting))}, StructuredContent: greeting}, err
}

func newServer() *mcp.Server {
	s := mcp.NewServer("greeter", "1.0.0")
	mcp.AddTool(s, "simple-greeting", greet)
	s.AddTool(mcp.Tool{Name: "manual-greeting", InputSchema: input, OutputSchema: output}, greetRaw)
	s.AddTool(mcp.Tool{Name: "unvalidated-greeting"}, greetRaw) // accepts any object
	mcp.AddToolWith(s, mcp.Tool{Name: "customized-greeting-1", InputSchema: input}, greet)
	changed := bytes.Replace(mcp.SchemaOf[Person](), []byte(`"type":"string"`), []byte(`"type":"string","maxLength":10`), 1)
	mcp.AddToolWith(s, mcp.Tool{Name: "customized-greeting-2", InputSchema: changed}, greet)
	return s
}

func main() {
	if err := stdio.Serve(context.Background(), newServer()); err != nil {
		log.Fatal(err)
	}
}
