package layer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
)

func TestDefinitionsAreReadOnceForTheAuditLog(t *testing.T) {
	var r readDefinitions
	for i := range 2*maxRead + 10 {
		one := []byte(fmt.Sprintf(`{"name":"t%d","annotations":{"readOnlyHint":true}}`, i))
		for range 2 {
			if hash, hints := r.of(one); hash != audit.HashOf(one) || string(hints) != `{"readOnly":true}` {
				t.Fatalf("of %s: %s, %s", one, hash, hints)
			}
		}
	}
	if len(r.all) > maxRead {
		t.Errorf("%d definitions are remembered", len(r.all))
	}
}

func BenchmarkDescribe(b *testing.B) {
	definition := []byte(`{"name":"read","description":"` + strings.Repeat("Reads a file. ", 100) + `","annotations":{"readOnlyHint":true}}`)
	var r readDefinitions
	b.ReportAllocs()
	for b.Loop() {
		r.of(definition)
	}
}
