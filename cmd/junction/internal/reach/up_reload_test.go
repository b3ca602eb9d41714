package reach_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A log is written until junction up ends, whether the settings name it or not: what it hides stays hidden.
func TestRemovedAuditLogKeepsItsRedaction(t *testing.T) {
	for _, s := range []*settings.Audit{{Arguments: "omit"}, {Redact: []string{"/text"}}} {
		y := &layer.Stack{Opened: &settings.Settings{Review: reach.ReviewNone, Audit: s}}
		before, err := y.Read(y.Opened)
		if err != nil {
			t.Fatal(err)
		}
		next, err := y.Read(&settings.Settings{Review: reach.ReviewNone})
		if err != nil {
			t.Fatal(err)
		}
		y.Use(before)
		y.Use(next)
		if got := next.Logged(nil, "").Arguments(mcp.NewRequest("prompts/get", nil), []byte(`{"text":"private"}`)); strings.Contains(string(got), "private") {
			t.Errorf("%+v: it has %s", s, got)
		}
	}
}
