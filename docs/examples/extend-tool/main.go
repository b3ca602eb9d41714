package main

import (
	"context"
	"fmt"
	"log"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/offline"
)

type Reading struct {
	Degrees float64 `json:"degrees" doc:"in Fahrenheit"`
}

func main() {
	own := mcp.NewServer("thermometer", "1.0")
	reads := &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(own, mcp.Tool{Name: "celsius", Description: "Convert degrees to Celsius.", Annotations: reads},
		func(_ context.Context, r Reading) (string, error) {
			return fmt.Sprintf("%.0f °C", (r.Degrees-32)/1.8), nil
		})

	h, err := host.New(host.Options{Model: offline.New(), Tools: own})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "convert 212 degrees to celsius"})
	fmt.Println(answer.Text, err)
}
