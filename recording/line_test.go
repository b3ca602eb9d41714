package recording

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/internal/fields"
)

// linesOfEachField returns a line with all fields, one with none, and one for each field alone.
func linesOfEachField() []line {
	full := line{MS: 1234.567, Event: eventError, Call: 1 << 40, Server: "files", Caller: 2, Client: "inspector " + aToken, Revision: "2026-07-28", Capabilities: []string{canElicit, canRoots},
		Method: "tools/call", Params: json.RawMessage("{\"password\":\n \"hunter2-x\"}"), Ask: 3, Key: "key " + aToken, Result: json.RawMessage(`{"text":"` + aToken + `"}`), Type: "complete",
		Meta: json.RawMessage(`{"é":1.50}`), TTL: -5, Scope: "user", Error: &fault{Code: -32602, Message: "no " + aToken, Data: json.RawMessage(`{"token":"a1b2c3d4"}`)}, Omitted: 7, Lines: 8, Bytes: 9}
	all := []line{full, {}, {MS: -0.001, Error: &fault{}}, {Capabilities: []string{}, Result: json.RawMessage(`""`)}}
	for i := range reflect.TypeFor[line]().NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			continue
		}
		var one line
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		all = append(all, one)
	}
	return all
}

func TestLinesAreWrittenAsBefore(t *testing.T) {
	want, err := os.ReadFile("testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var written []byte
	h := new(hider)
	for _, l := range linesOfEachField() {
		written = l.append(written, h)
	}
	got := bytes.SplitAfter(written, []byte("\n"))
	for i, line := range bytes.SplitAfter(want, []byte("\n")) {
		if i >= len(got) || !bytes.Equal(got[i], line) {
			t.Fatalf("line %d of %d is not\n%s", i+1, len(got), line)
		}
	}
}

// TestFieldsOfLinesAreRedacted checks that each field with text of a peer has the tag redact.
func TestFieldsOfLinesAreRedacted(t *testing.T) {
	plain := []string{"event", "server", "revision", "capabilities", "method", "type", "cacheScope"}
	for _, all := range [][]fields.Field{lines.Fields(), fields.Of[fault]().Fields()} {
		for _, f := range all {
			redacted := f.Tag.Get("redact") != ""
			if f.IsNumber() || f.Name == "error" {
				continue
			}
			if redacted == slices.Contains(plain, f.Name) {
				t.Errorf("%s: redacted is %v", f.Name, redacted)
			}
		}
	}
}
