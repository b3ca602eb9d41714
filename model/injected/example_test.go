package injected_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/injected"
)

// parrot is a model that can only write text.
type parrot struct{ text string }

func (p parrot) Info() model.Info { return model.Info{Provider: "parrot", Language: true} }

func (p parrot) Generate(_ context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	emit(model.Delta{Text: p.text})
	parts := []model.Part{{Text: p.text}}
	return &model.Response{Message: model.Message{Role: model.RoleAssistant, Parts: parts}, Stop: model.StopEnd}, nil
}

func Example() {
	m := injected.New(parrot{"Let me see.\n<tool_call>\n{'name': 'add', 'arguments': {'a': 2, 'b': 40,}}\n</tool_call>"})
	res, err := m.Generate(context.Background(), &model.Request{
		Messages: []model.Message{model.UserText("add 2 and 40")},
		Tools: []model.Tool{{
			Name:   "add",
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Message.Text())
	for _, c := range res.Message.Calls() {
		fmt.Println(c.Name, string(c.Arguments))
	}
	fmt.Println(res.Stop)
	// Output:
	// Let me see.
	// add {"a":2,"b":40}
	// calls
}
