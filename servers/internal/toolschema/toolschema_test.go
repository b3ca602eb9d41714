package toolschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

func TestFitsFollowsReferences(t *testing.T) {
	var chain, wide strings.Builder
	for i := range 30 {
		fmt.Fprintf(&chain, `"C%d":{"properties":{"p":{"$ref":"#/$defs/C%d"}}},`, i, i+1)
		fmt.Fprintf(&wide, `"W%d":{"anyOf":[{"$ref":"#/$defs/W%d"},{"$ref":"#/$defs/W%d"}]},`, i, i+1, i+1)
	}
	for name, c := range map[string]struct {
		schema string
		want   bool
	}{
		"a small one":                     {`{"type":"object","properties":{"a":{"items":{"type":"string"}}}}`, true},
		"one that leads back":             {`{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"properties":{"n":{"$ref":"#/$defs/N"}}}}}`, true},
		"a long chain":                    {`{"properties":{"n":{"$ref":"#/$defs/C0"}},"$defs":{` + chain.String() + `"C30":{}}}`, false},
		"one that doubles with each step": {`{"properties":{"n":{"$ref":"#/$defs/W0"}},"$defs":{` + wide.String() + `"W30":{}}}`, false},
		"a long text":                     {`{"description":"` + strings.Repeat("x", maxSchema) + `"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := tree.ParseJSON([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := Fits(v.(*tree.Object)); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
