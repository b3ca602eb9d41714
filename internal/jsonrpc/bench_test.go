package jsonrpc

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

var (
	legacyCall = []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, sea"}}}`)
	modernCall = []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
)

// prose returns n bytes of text with a quote or a line break every 60 bytes.
func prose(n int) string {
	line := strings.Repeat("a", 59) + "\n" + strings.Repeat("b", 59) + `"`
	return strings.Repeat(line, n/len(line)+1)[:n]
}

func textResult() []byte {
	result := AppendString([]byte(`{"content":[{"type":"text","text":`), prose(1<<20))
	return AppendResult(nil, IntID(7), append(result, `}]}`...))
}

func benchmarkMessages() []struct {
	name string
	data []byte
} {
	return []struct {
		name string
		data []byte
	}{
		{"legacy call", legacyCall},
		{"modern call", modernCall},
		{"1 MiB text result", textResult()},
		{"1 MiB plain result", AppendResult(nil, "7", AppendString(nil, strings.Repeat("plain text ", 95325)))},
		{"1 MiB Chinese result", AppendResult(nil, "7", AppendString(nil, strings.Repeat("漢字かな", 87381)))},
	}
}

func BenchmarkParse(b *testing.B) {
	for _, m := range benchmarkMessages() {
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(m.data)))
			for b.Loop() {
				if _, err := Parse(m.data, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseStdlib does the same work as far as encoding/json can: it neither refuses repeated
// names nor indexes the members of params.
func BenchmarkParseStdlib(b *testing.B) {
	for _, m := range benchmarkMessages() {
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(m.data)))
			for b.Loop() {
				var msg struct {
					JSONRPC string          `json:"jsonrpc"`
					ID      json.RawMessage `json:"id"`
					Method  string          `json:"method"`
					Params  json.RawMessage `json:"params"`
					Result  json.RawMessage `json:"result"`
				}
				if err := json.Unmarshal(m.data, &msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	for _, t := range []struct{ name, text string }{
		{"1 MiB with an escape every 60 bytes", prose(1 << 20)},
		{"1 MiB plain", strings.Repeat("a", 1<<20)},
		{"1 MiB Chinese", strings.Repeat("漢字かな", 87381)},
		{"12 bytes", "hello, world"},
	} {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(t.text)))
			var dst []byte
			for b.Loop() {
				dst = AppendString(dst[:0], t.text)
			}
		})
	}
}

func BenchmarkAppendBase64String(b *testing.B) {
	data := make([]byte, 1<<20)
	var dst []byte
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		dst = AppendBase64String(dst[:0], data)
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	params := []byte(`{"name":"echo","arguments":{"text":"hello, sea"}}`)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendRequest(dst[:0], "7", "tools/call", params)
	}
}

func BenchmarkSkipValue(b *testing.B) {
	data := textResult()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, ok := SkipValue(data, 0); !ok {
			b.Fatal("not skipped")
		}
	}
}

// BenchmarkValidMembers shows that the cost of a member does not grow with their number.
func BenchmarkValidMembers(b *testing.B) {
	for _, n := range []int{16, 17, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			data := []byte(object(n))
			b.ReportAllocs()
			for b.Loop() {
				if err := Valid(data, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
		})
	}
}

func BenchmarkAppendResult(b *testing.B) {
	result := []byte(`{"content":[{"type":"text","text":"hello, sea"}]}`)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendResult(dst[:0], "7", result)
	}
}

func BenchmarkWithout(b *testing.B) {
	obj := []byte(`{"resultType":"complete","content":[{"type":"text","text":"hello, sea"}],"_meta":{"a":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		Without(obj, "resultType", "_meta")
	}
}
