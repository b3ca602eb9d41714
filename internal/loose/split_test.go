package loose

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAMessageWithManyBlocksIsNotCopiedForEach(t *testing.T) {
	result := json.RawMessage(`{"messages":[{"role":"user","x":"` + strings.Repeat("x", 100_000) + `","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 999) + `{"type":"text","text":"a"}]}]}`)
	mended, _ := Mend("prompts/get", "", result)
	if len(mended) > 2*len(result) {
		t.Errorf("%d bytes became %d", len(result), len(mended))
	}
	if n := strings.Count(string(mended), `"role":"user"`); n != 1000 {
		t.Errorf("got %d messages, want 1000", n)
	}
}
