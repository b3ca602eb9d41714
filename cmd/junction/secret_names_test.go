package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/recording"
)

// TestASecretIsHiddenByItsNameEverywhere plants a value under each name of the one list in each place that hides by names.
func TestASecretIsHiddenByItsNameEverywhere(t *testing.T) {
	value := "q7Zp" + "4LmX" + "2vTk" + "9RbW" // not in one piece, for scanners of repositories
	for _, ending := range redact.Endings() {
		for _, name := range []string{ending, strings.ToUpper(ending), "x-" + ending, "session_" + ending, "X-Session-" + strings.ToUpper(ending[:1]) + ending[1:]} {
			object, err := json.Marshal(map[string]string{name: value})
			if err != nil {
				t.Fatal(err)
			}
			if shown, _ := redact.JSON(object, redact.Limits{Text: 100, Bytes: 1 << 10, Depth: 4}); bytes.Contains(shown, []byte(value)) {
				t.Errorf("traffic and console show %s", shown)
			}
			if kept := audit.Redacted(object); bytes.Contains(kept, []byte(value)) {
				t.Errorf("the audit log keeps %s", kept)
			}
			if text := name + " = " + value; len(guard.Secrets(text)) == 0 {
				t.Errorf("a text is not found to hold a secret: %s", text)
			}
			if kept := recordingOf(t, object); strings.Contains(kept, value) {
				t.Errorf("a recording keeps %s: %s", name, kept)
			}
		}
	}
}

// recordingOf is the recording of a call with these arguments.
func recordingOf(t *testing.T, arguments json.RawMessage) string {
	t.Helper()
	var file bytes.Buffer
	r, err := recording.New(&file, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(map[string]any{"name": "x", "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	h := r.Middleware("s")(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, nil }))
	if _, err := h.Handle(t.Context(), mcp.NewRequest("tools/call", params)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}
