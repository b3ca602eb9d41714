package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/openai"
)

// In the example a local server takes the place of the provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"It is "}}]}`+"\n\n")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"42."},"finish_reason":"stop"}]}`+"\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer server.Close()

	m, err := openai.New(openai.Options{BaseURL: server.URL + "/v1", Model: "qwen3:8b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &model.Request{Messages: []model.Message{model.UserText("add 2 and 40")}}
	answer, err := model.Retrying(m).Generate(context.Background(), request, func(d model.Delta) {
		fmt.Printf("%q ", d.Text)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Stop, answer.Message.Text())
	// Output: "It is " "42." end It is 42.
}
