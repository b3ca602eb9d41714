package watch_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/traffic"
)

// TestFiltersOfTrafficOfAnOlderVersion chooses among events that junction traffic --json --notes printed on 2026-11-28.
func TestFiltersOfTrafficOfAnOlderVersion(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "traffic", "testdata", "2026-11-28", "traffic.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []watch.ShownEvent
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e watch.ShownEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	for _, tt := range []struct {
		name   string
		filter watch.TrafficFilter
		want   int
	}{
		{"all", watch.TrafficFilter{Notes: true}, 56},
		{"messages", watch.TrafficFilter{}, 36},
		{"calls", watch.TrafficFilter{Method: "tools/call"}, 16},
		{"a server", watch.TrafficFilter{Servers: []string{"memory"}}, 6},
		{"a server that there is not", watch.TrafficFilter{Servers: []string{"files"}}, 0},
		{"a text", watch.TrafficFilter{Text: "relations are kept"}, 1},
		{"errors", watch.TrafficFilter{Errors: true}, 4},
		{"errors of a server", watch.TrafficFilter{Errors: true, Servers: []string{"memory"}}, 1},
	} {
		shown := map[string]int{}
		all := 0
		for i := range events {
			if tt.filter.Shows(&events[i]) {
				shown[events[i].Kind]++
				all++
			}
		}
		if all != tt.want || !tt.filter.Notes && shown[traffic.Note] > 0 {
			t.Errorf("%s: %d events are shown, want %d: %v", tt.name, all, tt.want, shown)
		}
	}
}
