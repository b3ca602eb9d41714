package openai

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// Three bytes on the wire must not become hundreds in memory without a limit.
func TestUnknownMembersAreBounded(t *testing.T) {
	var members strings.Builder
	for i := range 100_000 {
		members.WriteString(`"m` + strconv.Itoa(i) + `":1,`)
	}
	for name, delta := range map[string]string{
		"details of reasoning": `{"content":"ok","reasoning_details":[` + strings.Repeat("{},", 100_000) + `{}]}`,
		"members":              `{` + members.String() + `"content":"ok"}`,
		"members of a detail":  `{"content":"ok","reasoning_details":[{` + members.String() + `"type":"x"}]}`,
		"members of a call":    `{"content":"ok","tool_calls":[{` + members.String() + `"index":0,"function":{"name":"a","arguments":"{}"}}]}`,
	} {
		_, m := at(t, Options{}, answer{status: http.StatusOK, body: event(delta) + "data: [DONE]\n\n"})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		res, err := m.Generate(t.Context(), hello(), nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%s: %d bytes on the wire, %d allocated, %d kept", name, len(delta), after.TotalAlloc-before.TotalAlloc, int64(after.HeapAlloc)-int64(before.HeapAlloc))
		if !errors.Is(err, model.ErrBroken) || res == nil {
			t.Errorf("%s: taken without limit: %v", name, err)
		}
		runtime.KeepAlive(res)
	}
}
