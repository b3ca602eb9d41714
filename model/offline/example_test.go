package offline_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
)

func Example() {
	m := offline.New()
	req := &model.Request{
		Messages: []model.Message{model.UserText("add 2 and 40")},
		Tools: []model.Tool{{
			Name: "calculator__add", Description: "Add two numbers.",
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		}},
	}
	resp, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range resp.Message.Calls() {
		fmt.Println(c.Name, string(c.Arguments))
	}
	// Output: calculator__add {"a":2,"b":40}
}
