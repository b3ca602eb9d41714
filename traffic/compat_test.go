package traffic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestEventsOfAnOlderVersion reads the output of junction traffic --json --notes from 2026-11-28:
// each event has the same form today.
func TestEventsOfAnOlderVersion(t *testing.T) {
	f, err := os.Open("testdata/2026-11-28/traffic.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			PID int `json:"pid"`
			Event
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
		want := bytes.Replace(lines.Bytes(), fmt.Appendf(nil, `"pid":%d,`, e.PID), nil, 1)
		if got := e.AppendJSON(nil); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if want := map[string]int{Request: 18, Response: 17, Error: 1, Note: 20}; !maps.Equal(kinds, want) {
		t.Errorf("there are %v, want %v", kinds, want)
	}
}
