package redact

import (
	"strings"
	"testing"
)

// BenchmarkAsIs measures messages with nothing to hide, which nearly all are.
func BenchmarkAsIs(b *testing.B) {
	prose := strings.Repeat("The tool reads a file, e.g. main.go or docs/api.md (see https://example.com/a/b for more). It returns 12 lines; ", 150)
	settings := strings.Repeat(`  \"name\": \"value-12\",\n  \"count\": 17,\n  \"path\": \"/usr/lib/x_y.so\",\n`, 150)
	source := strings.Repeat(`func f(a, b int) int {\n\tif a == b { return a.x[i] }\n\tn := len(s) - 1 // count\n}\n`, 150)
	for _, test := range []struct{ name, data string }{
		{"call", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/a/b.txt","query":"one two, three"}}}`},
		{"prose", `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"` + prose + `"}]}}`},
		{"JSON in a text", `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"` + settings + `"}]}}`},
		{"source", `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"` + source + `"}]}}`},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(test.data)))
			l, data := Limits{Text: 64 << 10, Bytes: 1 << 20, Depth: 32}, []byte(test.data)
			for b.Loop() {
				if !l.AsIs(data, nil) {
					b.Fatal("something is hidden")
				}
			}
		})
	}
}

func TestNothingToHideAllocatesNothing(t *testing.T) {
	data := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/a/b.txt"}}}`)
	dst := make([]byte, 0, 2*len(data))
	if n := testing.AllocsPerRun(100, func() {
		if shown, _ := AppendJSON(dst, data, Limits{Text: 64 << 10, Bytes: 1 << 20, Depth: 32}); len(shown) != len(data) {
			t.Fatalf("shown is %s", shown)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
