package skills

import (
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

func FuzzFrontmatter(f *testing.F) {
	f.Add([]byte("---\nname: a\ndescription: d\n---\n"))
	f.Add([]byte("\xef\xbb\xbf---\r\na: [1, 0x10, 1e3, .nan]\r\n? b\r\n: {c: !!binary aGk=}\r\n---  \r\n"))
	f.Add([]byte("---\n<<: &x {a: 1}\nb: *x\nc: |\n  ---\n---\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		object, err := frontmatter(file)
		if err != nil {
			return
		}
		if fault := jsonrpc.Valid(object, jsonrpc.Limits{}); fault != nil || object[0] != '{' {
			t.Errorf("%q: %v", object, fault)
		}
		if !same(object, object) {
			t.Errorf("%s is not the same as itself", object)
		}
	})
}
