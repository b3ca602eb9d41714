package main

import (
	"context"
	"fmt"
	"log"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/offline"
)

type Pair struct{ A, B float64 }

type Bill struct {
	Meal string `json:"meal" doc:"its price"`
	Tip  string `json:"tip" doc:"what you give"`
}

func main() {
	own := mcp.NewServer("waiter", "1.0")
	reads := &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(own, mcp.Tool{Name: "add", Annotations: reads}, func(_ context.Context, p Pair) (float64, error) { return p.A + p.B, nil })
	mcp.AddPrompt(own, "bill", func(_ context.Context, b Bill) (*mcp.GetPromptResult, error) { // users type /host:bill
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("add " + b.Meal + " and " + b.Tip)}}}, nil
	})

	h, err := host.New(host.Options{Model: offline.New(), Tools: own})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	bill := &host.PromptCall{Server: host.OwnServer, Name: "bill", Arguments: map[string]string{"meal": "40", "tip": "2"}}
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Prompt: bill})
	fmt.Println(answer.Text, err)
}
