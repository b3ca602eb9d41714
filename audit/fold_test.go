package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

// A caller that is refused repeatedly has one line a second, and the lines of handled calls stay.
func TestRefusalsAreFolded(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	synctest.Test(t, func(t *testing.T) {
		l, err := audit.Open(dir, audit.Options{Key: key, NoSync: true, MaxFile: 20_000, Keep: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		h := l.Calls(audit.CallOptions{Arguments: func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return data }})(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Name {
			case "limited":
				decide(ctx, note.Decision{Effect: audit.Denied, Rule: "the limit", Reason: "too many calls", Refused: true, Whatever: true})
			case "scope":
				return mcp.Result{}, &mcp.ScopeError{Needs: []string{"admin"}}
			case "shadow":
				decide(ctx, note.Decision{Effect: audit.Denied, Rule: "a rule", Reason: "in the shadow"})
			}
			return mcp.Result{JSON: []byte(`{}`)}, nil
		}))
		call := func(user, client, tool, pad string) {
			req := mcp.NewRequest("tools/call", []byte(fmt.Sprintf(`{"name":%q,"arguments":{"pad":%q}}`, tool, pad)))
			req.Principal = &mcp.Principal{Issuer: "i", Subject: user}
			req.Meta.Client = &mcp.Implementation{Name: client}
			_, _ = h.Handle(t.Context(), req)
		}
		call("eve", "c", "deed", "")
		for i := range 5_000 { // ten seconds
			call("eve", fmt.Sprint(i), "limited", fmt.Sprintf("%01000d", i))
			call("bob", "c", "scope", "")
			time.Sleep(2 * time.Millisecond)
		}
		call("ada", "c", "limited", "")
		for range 3 {
			call("ada", "c", "shadow", "")
		}
		time.Sleep(3 * time.Second)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
	report, err := audit.Verify(dir, key)
	if err != nil || report.Count != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	lines, counted := map[string]int{}, map[string]int{}
	deeds := 0
	for line, err := range audit.Read(dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Principal, Name, Decision, Arguments string
			Refused                              int
		}
		_ = json.Unmarshal(line, &said) // Arguments is not a text if there are some
		if said.Name == "deed" {
			deeds++
		}
		lines[said.Principal+" "+said.Name]++
		counted[said.Principal] += said.Refused
	}
	if deeds != 1 {
		t.Errorf("the deed has %d lines", deeds)
	}
	for who, want := range map[string][2]int{"eve limited": {10, 16}, "bob scope": {9, 15}, "ada limited": {2, 2}, "ada shadow": {6, 6}} {
		if n := lines[who]; n < want[0] || n > want[1] {
			t.Errorf("%s: %d lines, want %d to %d", who, n, want[0], want[1])
		}
	}
	for who, want := range map[string]int{"eve": 4_999, "bob": 4_999, "ada": 0} {
		if counted[who] != want {
			t.Errorf("of %s %d are counted, want %d", who, counted[who], want)
		}
	}
	if report.Refused != 9_998 {
		t.Errorf("the report counts %d", report.Refused)
	}
}

// Many refused callers do not displace lines of calls either: lines of refusals have a tenth of the
// kept bytes.
func TestRefusalsOfManyCallersLeaveRoom(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	l, err := audit.Open(dir, audit.Options{Key: key, NoSync: true, MaxFile: 50_000, Keep: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	h := l.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Name != "deed" {
			decide(ctx, note.Decision{Effect: audit.Denied, Rule: "a rule", Reason: "no", Refused: true})
		}
		return mcp.Result{JSON: []byte(`{}`)}, nil
	}))
	for i := range 3_000 {
		name := "deed"
		if i > 0 {
			name = fmt.Sprint("tool ", i)
		}
		req := mcp.NewRequest("tools/call", []byte(fmt.Sprintf(`{"name":%q}`, name)))
		req.Principal = &mcp.Principal{Issuer: "i", Subject: fmt.Sprint("user ", i)}
		_, _ = h.Handle(t.Context(), req)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(dir, key)
	if err != nil || report.Count != 0 || report.First != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func newKey(t *testing.T) *audit.Key {
	key, err := audit.ReadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
