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

func main() {
	s := mcp.NewServer("calc", "1.0")
	harmless := &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(s, mcp.Tool{Name: "add", Annotations: harmless}, func(_ context.Context, p Pair) (float64, error) { return p.A + p.B, nil })

	h, err := host.New(host.Options{
		Model:   offline.New(), // or one of model/openai, model/responses or model/anthropic
		Servers: []host.Server{{Name: "calc", Handler: s, Trusted: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "add 2 and 40"})
	fmt.Println(answer.Text, err)
}
