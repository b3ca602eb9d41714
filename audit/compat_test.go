package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestLogOfAnOlderVersion reads a log that junction up wrote on 2026-11-28, and appends to it.
func TestLogOfAnOlderVersion(t *testing.T) {
	const from = "testdata/2026-11-28"
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(from, "log"))); err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(filepath.Join(from, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(from, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePublic(string(text))
	if err != nil || !public.Equal(key.Public()) {
		t.Fatalf("the public key is another: %v", err)
	}
	report, err := Verify(dir, key)
	if err != nil || report.Count != 0 || report.Lines != 8 || report.Checkpoints != 2 || report.Last != 8 || report.Unsigned != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if report, err := VerifyPublic(dir, public); err != nil || report.Count != 0 || report.Lines != 8 {
		t.Errorf("with the public key: %+v, %v", report, err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, fileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		filter Filter
		lines  []int // their numbers
	}{
		{"all", Filter{}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{"calls", Filter{Kind: "call"}, []int{1, 3, 5, 6, 7}},
		{"denied", Filter{Decision: Denied}, []int{4}},
		{"allowed that failed", Filter{Decision: Allowed, Outcome: "tool_error,error"}, []int{6, 7}},
		{"a tool", Filter{Name: "search_nodes"}, []int{3}},
		{"a server", Filter{Server: "memory", Client: "JUNCTION"}, []int{1, 3, 4, 5, 6, 7}},
		{"a call", Filter{Call: "AEYDMUIEZSPHJHLE"}, []int{4, 5}},
	} {
		lines := bytes.Split(whole, []byte("\n"))
		i := 0
		for line, err := range Read(dir, tt.filter) {
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(tt.lines) || !bytes.Equal(line, lines[tt.lines[i]-1]) {
				t.Errorf("%s: line %d is %s", tt.name, i, line)
			}
			i++
		}
		if i != len(tt.lines) {
			t.Errorf("%s: %d lines, want %v", tt.name, i, tt.lines)
		}
	}
	l, err := Open(dir, Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{Kind: KindCall, Name: "later", Arguments: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(dir, key); err != nil || report.Count != 0 || report.Lines <= 8 || report.Checkpoints < 3 {
		t.Errorf("gone on with: %+v, %v", report, err)
	}
}
