package scripted_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/model"
)

func Example() {
	m := scripted.New(scripted.Call("add", `{"a":2,"b":40}`), scripted.Say("It is 42."))
	req := &model.Request{Messages: []model.Message{model.UserText("add 2 and 40")}}

	resp, _ := m.Generate(context.Background(), req, nil)
	call := resp.Message.Calls()[0]
	fmt.Println(call.Name, string(call.Arguments))

	result := model.Part{Result: &model.Result{CallID: call.ID, Name: call.Name, Parts: []model.Part{{Text: "42"}}}}
	req.Messages = append(req.Messages, resp.Message, model.Message{Role: model.RoleTool, Parts: []model.Part{result}})
	resp, _ = m.Generate(context.Background(), req, nil)
	fmt.Println(resp.Message.Text())
	// Output:
	// add {"a":2,"b":40}
	// It is 42.
}
