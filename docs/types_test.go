package docs_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

var typeRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| `(\\{.*\\})` \\|$")

// The table of Go types and their schemas says what the library infers.
func TestTheTableOfTypesIsTrue(t *testing.T) {
	schemas := map[string]func() json.RawMessage{
		"bool": mcp.SchemaOf[bool], "int": mcp.SchemaOf[int], "int64": mcp.SchemaOf[int64], "uint": mcp.SchemaOf[uint],
		"uint64": mcp.SchemaOf[uint64], "uint8": mcp.SchemaOf[uint8], "int16": mcp.SchemaOf[int16], "float64": mcp.SchemaOf[float64],
		"string": mcp.SchemaOf[string], "[]byte": mcp.SchemaOf[[]byte], "[]string": mcp.SchemaOf[[]string], "[2]int": mcp.SchemaOf[[2]int],
		"map[string]int": mcp.SchemaOf[map[string]int], "struct{}": mcp.SchemaOf[struct{}], "[]*int": mcp.SchemaOf[[]*int],
		"time.Time": mcp.SchemaOf[time.Time], "time.Duration": mcp.SchemaOf[time.Duration], "netip.Addr": mcp.SchemaOf[netip.Addr],
		"any": mcp.SchemaOf[any], "json.RawMessage": mcp.SchemaOf[json.RawMessage],
	}
	page, err := os.ReadFile("server.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range typeRow.FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			name = strings.Trim(name, "`")
			of := schemas[name]
			if of == nil {
				t.Errorf("server.md: type %s is not one that this test knows", name)
				continue
			}
			if got := string(of()); got != row[2] {
				t.Errorf("server.md: %s has the schema %s, not %s", name, got, row[2])
			}
			seen++
		}
	}
	if seen != len(schemas) {
		t.Errorf("server.md: %d types, want %d", seen, len(schemas))
	}
}
