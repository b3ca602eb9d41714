package use_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/internal/terminal"
)

func TestATerminalShowsALineForEachTool(t *testing.T) {
	l := use.ToolList()
	entries := []json.RawMessage{
		json.RawMessage(`{"name":"a","description":"First. Second.","inputSchema":{"properties":{"x":{"type":"string"}}}}`),
		json.RawMessage(`{"name":"longer","description":"Use it, e.g. so.\nMore."}`),
		json.RawMessage(`{"name":"b"}`),
	}
	brief, err := l.ShownAs(false).Text(entries, 60)
	if want := "  a       First.\n  longer  Use it, e.g. so.\n  b\n"; err != nil || brief != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, brief, want)
	}
	full, err := l.ShownAs(true).Text(entries, 60)
	if err != nil || !strings.Contains(full, "Second.") || !strings.Contains(full, "x  string  optional") {
		t.Errorf("got %v\n%s", err, full)
	}
	wide, _ := l.ShownAs(false).Text([]json.RawMessage{json.RawMessage(`{"name":"` + strings.Repeat("n", 90) + `","description":"` + strings.Repeat("日本", 90) + `"}`),
		json.RawMessage(`{"name":"n","description":"` + strings.Repeat("日本", 90) + `"}`)}, 60)
	lines := strings.Split(strings.TrimSuffix(wide, "\n"), "\n")
	if len(lines) != 2 || terminal.Width(lines[1]) > 60 {
		t.Errorf("got %q", lines)
	}
}
