package guard

import (
	"fmt"
	"strings"
	"testing"
)

// prose returns ordinary text of about n bytes.
func prose(n int) string {
	const line = "The report lists every open order with its customer, its total and the date of the last change; see section 4: the rules apply if total >= 100, id=7. "
	return strings.Repeat(line, n/len(line)+1)[:n]
}

func BenchmarkCallOf16KiB(b *testing.B) {
	call := fmt.Appendf(nil, `{"path":"report.txt","text":%q}`, prose(16<<10))
	var flow Flow
	flow.Read(Source{Server: "web", Tool: "fetch"}, Private|Untrusted, prose(64<<10))
	b.SetBytes(int64(len(call)))
	for b.Loop() {
		flow.Ask(Call{Server: "files", Tool: "write", Arguments: call})
	}
}

func BenchmarkResultOf16KiB(b *testing.B) {
	result := prose(16 << 10)
	c := manyTools(500)
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		c.Scan(result, Where{Part: InResult, Server: "files"})
	}
}

func BenchmarkListOf500Tools(b *testing.B) {
	c := manyTools(500)
	var pins Pins
	for b.Loop() {
		for i := range 500 {
			d := Definition{Kind: Tool, Server: "files", Name: fmt.Sprint("tool_number_", i), Description: prose(600), Schema: []byte(schemaText)}
			c.ScanDefinition(d)
			pins.Check(d)
		}
	}
}

const schemaText = `{"type":"object","properties":{"path":{"type":"string","description":"Where the file is, from the root of the project."},"limit":{"type":"integer","description":"How many lines at most."}},"required":["path"]}`

func manyTools(n int) *Catalogue {
	var c Catalogue
	for i := range n {
		c.Set(fmt.Sprint("server", i%40), fmt.Sprint("some_tool_", i))
	}
	return &c
}
