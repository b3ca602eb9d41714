package host_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/offline"
)

// A question, a model, a server with one tool. The offline model needs neither
// network nor key; package model/openai or model/anthropic takes its place. As the tool
// says that it changes nothing and reaches nobody, no person has to be asked.
func Example() {
	calc := mcp.NewServer("calc", "1.0.0")
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	mcp.AddToolWith(calc, mcp.Tool{Name: "add", Description: "Add two numbers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}, func(_ context.Context, in pair) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	})

	h, err := host.New(host.Options{
		Model:   offline.New(),
		Servers: []host.Server{{Name: "calc", Handler: calc, Trusted: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "add 2 and 40"})
	fmt.Println(answer.Text, err)
	// Output: 42 <nil>
}
