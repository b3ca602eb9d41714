package live

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/traffic"
)

func TestAMessageThatSaysThatSomethingFailedIsOneThatFailed(t *testing.T) {
	for message, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`:      true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isErro\u0072":true}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`:     false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"isError":true}]}}`:     false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`:                     false,
	} {
		if got := failed(&traffic.Event{Kind: traffic.Response, Message: json.RawMessage(message)}); got != want {
			t.Errorf("%s: failed is %v", message, got)
		}
	}
	for kind, want := range map[string]bool{traffic.Error: true, traffic.Failure: true, traffic.Request: false, traffic.Note: false} {
		if got := failed(&traffic.Event{Kind: kind, Message: json.RawMessage(`{"result":{"isError":true}}`)}); got != want {
			t.Errorf("of a %s failed is %v", kind, got)
		}
	}
}
