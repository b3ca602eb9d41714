package revision

import (
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// The forms of a tool's result that is kept are those that its text alone has.
func TestAKeptCallHasTheFormsOfItsText(t *testing.T) {
	for _, result := range []string{
		`{"content":[{"type":"text","text":"structuredContent"}]}`,
		`{"content":[],"structuredContent":{"a":[1]}}`,
		`{"content":[],"structuredContent":[1]}`,
		`{"structuredContent":null,"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`,
		`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"audio","data":"","mimeType":"audio/wav"}],"\u0073tructuredContent":true}`,
	} {
		members, fault := jsonrpc.Index([]byte(result), jsonrpc.Limits{})
		if fault != nil {
			t.Fatal(fault)
		}
		kept := KeepCall([]byte(result), &members)
		for i := range table {
			r := &table[i]
			if got, want := kept.form(r), r.lower([]byte(result), "tools/call"); string(got) != string(want) {
				t.Errorf("%s: %s is %s, want %s", r.Name, result, got, want)
			}
		}
	}
}
