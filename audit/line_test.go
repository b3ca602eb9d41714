package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/mcp"
)

// fullRecord returns a record with a value in each field of testdata/records.jsonl.
func fullRecord() Record {
	return Record{Time: time.Date(2026, 11, 26, 1, 2, 3, 4_567_890, time.FixedZone("", 3600)), Kind: KindCall, Call: "ABCDEFGHIJKLMNOP", Method: "tools/call", Name: "files__read\"é\n", Server: "files",
		Tool: "read\u2028", Hash: "0123456789abcdef01234567", Annotations: json.RawMessage(`{"readOnly":true}`), Round: 2, Principal: "ann", Issuer: "https://login.example", Scopes: []string{"a", "b\\"},
		Client: "inspector/1.0", Profile: "strict", Trace: "0af7651916cd43dd8448eb211c80319c", Decision: Allowed, Rule: "rules.json:3", Reason: "<because>", Refused: 3, Outcome: "error", Code: -32602,
		Resent: 1, Duration: 1_234_567 * time.Nanosecond, Sent: 100, Received: 1 << 40, Arguments: json.RawMessage(`{"path":"a","n":[1, 2]}`), Result: json.RawMessage(`{"content":[]}`)}
}

// recordsOfEachField returns a record with all fields, one with none, and one for each single
// field.
func recordsOfEachField() []Record {
	full := fullRecord()
	all := []Record{full, {}, {Duration: 999 * time.Nanosecond, Scopes: []string{}, Arguments: json.RawMessage{}}}
	for i, of := range reflect.VisibleFields(reflect.TypeFor[Record]()) {
		if !of.IsExported() || reflect.ValueOf(full).Field(i).IsZero() {
			continue
		}
		var one Record
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		all = append(all, one)
	}
	return all
}

func TestRecordsAreWrittenAsBefore(t *testing.T) {
	var got []byte
	for _, r := range recordsOfEachField() {
		got = append(r.append(got), '\n')
	}
	want, err := os.ReadFile("testdata/records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d lines, want %d", len(gotLines), len(wantLines))
	}
	for i, line := range wantLines {
		if !bytes.Equal(gotLines[i], line) {
			t.Errorf("line %d is\n%swant\n%s", i+1, gotLines[i], line)
		}
	}
}

// Each field of a Filter is a field of lines, with the same name and the same values.
func TestFiltersLookAtFieldsOfLines(t *testing.T) {
	written := fullRecord()
	written.Role, written.Event = "reader", EventLogin
	line := written.append(nil)
	enums := map[string][]string{
		"kind":     {KindCall, KindDecision, KindAdmin, KindCheckpoint, KindNote, KindExpired, fields.AllValues},
		"outcome":  {string(mcp.OutcomeOK), string(mcp.OutcomeToolError), string(mcp.OutcomeInputRequired), string(mcp.OutcomeCancelled), string(mcp.OutcomeError)},
		"decision": {Allowed, "ask", Denied},
	}
	for _, e := range Events() {
		enums["event"] = append(enums["event"], e.Name)
	}
	for _, p := range filters.List() {
		if want := enums[p.Name]; !slices.Equal(p.Enum, want) {
			t.Errorf("%s is one of %q, want %q", p.Name, p.Enum, want)
		}
	}
	for name, f := range map[string]*Filter{
		"kind": {Kind: KindCall}, "outcome": {Outcome: "ok,error"}, "decision": {Decision: Allowed}, "principal": {Principal: "ann"}, "server": {Server: "files"}, "call": {Call: written.Call}, "role": {Role: "reader"}, "event": {Event: "logout,login"},
		"tool": {Name: "READ"}, "client": {Client: "Inspector"}, "since": {Since: written.Time.Add(-time.Second)}, "until": {Until: written.Time.Add(time.Second)},
	} {
		if !filters.Fits(f)(line) {
			t.Errorf("the line does not have %s", name)
		}
		if filters.Fits(f)([]byte(`{}`)) {
			t.Errorf("an empty line has %s", name)
		}
	}
	if n := reflect.TypeFor[Filter]().NumField(); n != len(filters.List()) || n != 12 {
		t.Errorf("%d fields of %d are parameters, and 12 are tested", len(filters.List()), n)
	}
}
