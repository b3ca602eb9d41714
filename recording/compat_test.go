package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
)

// TestRecordingOfAnOlderVersion replays a recording of junction up from 2026-11-28: each request
// has the recorded response.
func TestRecordingOfAnOlderVersion(t *testing.T) {
	const path = "testdata/2026-11-28/session.jsonl"
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		Event, Method  string
		Call           int
		Params, Result json.RawMessage
		Error          *mcp.Error
	}
	requests, ended := map[int]step{}, 0
	synctest.Test(t, func(t *testing.T) {
		p, err := NewReplay(recorded, ReplayOptions{Strict: true, OnDifference: func(text string) { t.Error(text) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var s step
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatal(err)
			}
			switch s.Event {
			case "request":
				requests[s.Call] = s
				continue
			case "result", "error":
			default:
				continue
			}
			ended++
			asked := requests[s.Call]
			result, err := p.Handle(t.Context(), mcp.NewRequest(asked.Method, asked.Params))
			if s.Error != nil {
				if got, is := errors.AsType[*mcp.Error](err); !is || got.Code != s.Error.Code || got.Message != s.Error.Message {
					t.Errorf("request %d: %v, want %v", s.Call, err, s.Error)
				}
				continue
			}
			if err != nil || string(result.JSON) != string(s.Result) {
				t.Errorf("request %d: %s, %v, want %s", s.Call, result.JSON, err, s.Result)
			}
		}
	})
	if ended != 15 {
		t.Errorf("there are %d responses, want 15", ended)
	}
}
