package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/anthropic"
)

const answer = `event: message_start
data: {"type":"message_start","message":{"type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is 42."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`

// In the example a local server takes the place of the provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, answer)
	}))
	defer server.Close()

	m, err := anthropic.New(anthropic.Options{BaseURL: server.URL, Model: "claude-sonnet-4-5", Key: "a key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &model.Request{Messages: []model.Message{model.UserText("add 2 and 40")}}
	res, err := m.Generate(context.Background(), request, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Message.Text(), res.Stop, res.Usage.Output)
	// Output: It is 42. end 5
}
