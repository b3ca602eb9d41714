package guard

import (
	"fmt"
	"strings"
	"testing"
)

// prose is ordinary text of about n bytes.
func prose(n int) string {
	const line = "The report lists every open order with its customer, its total and the date of the last change; see section 4: the rules apply if total >= 100, id=7. "
	return strings.Repeat(line, n/len(line)+1)[:n]
}

func BenchmarkCallOf16KiB(b *testing.B) {
	call := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"path":"report.txt","text":%q}}}`, prose(16<<10))
	c := manyTools(500)
	var flow Flow
	flow.Read(Source{Server: "web", Tool: "fetch"}, Private|Untrusted, prose(64<<10))
	b.SetBytes(int64(len(call)))
	for b.Loop() {
		c.ScanFrame("files", call)
		flow.Ask(Call{Server: "files", Tool: "write", Arguments: call})
	}
}

func BenchmarkResultOf16KiB(b *testing.B) {
	result := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%q}]}}`, prose(16<<10))
	c := manyTools(500)
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		c.ScanFrame("files", result)
	}
}

func BenchmarkListOf500Tools(b *testing.B) {
	list := listOf(500)
	c := manyTools(500)
	var pins Pins
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		c.ScanFrame("files", list)
		for i := range 500 {
			pins.Check(Definition{Kind: Tool, Server: "files", Name: fmt.Sprint("tool_number_", i), Description: prose(600), Schema: []byte(schemaText)})
		}
	}
}

const schemaText = `{"type":"object","properties":{"path":{"type":"string","description":"Where the file is, from the root of the project."},"limit":{"type":"integer","description":"How many lines at most."}},"required":["path"]}`

func listOf(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_number_%d","description":%q,"inputSchema":%s}`, i, prose(600), schemaText)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func manyTools(n int) *Catalogue {
	var c Catalogue
	for i := range n {
		c.Set(fmt.Sprint("server", i%40), fmt.Sprint("some_tool_", i))
	}
	return &c
}
