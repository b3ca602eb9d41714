package mcp

import (
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

func TestAQuestionWithoutASenderBelongsToACallNotToAList(t *testing.T) {
	tests := []struct {
		name  string
		calls map[string]string // methods by id
		want  string
	}{
		{"nothing runs", nil, ""},
		{"only listening", map[string]string{"1": methodListen}, ""},
		{"the last call", map[string]string{"2": methodToolsCall, "10": methodToolsCall}, "10"},
		{"a list beside a call", map[string]string{"2": methodToolsCall, "3": "tools/list", "4": methodListen}, "2"},
		{"only a list", map[string]string{"3": "tools/list"}, "3"},
		{"a prompt and a ping", map[string]string{"7": methodPromptsGet, "8": methodPing}, "7"},
	}
	for _, test := range tests {
		u := &upstream{calls: map[jsonrpc.ID]*upcall{}}
		for id, method := range test.calls {
			u.calls[jsonrpc.ID(id)] = &upcall{id: jsonrpc.ID(id), method: method}
		}
		got := ""
		if c := u.someCall(); c != nil {
			got = string(c.id)
		}
		if got != test.want {
			t.Errorf("%s: it belongs to %q, want %q", test.name, got, test.want)
		}
	}
}
