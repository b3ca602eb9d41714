package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

// adder returns a server that adds, and fails if the sum is too large.
func adder() *mcp.Server {
	s := mcp.NewServer("adder", "1")
	mcp.AddTool(s, "add", func(_ context.Context, in struct{ A, B int }) (int, error) {
		if in.A+in.B > 100 {
			return 0, fmt.Errorf("too large for token ghp_0123456789abcdef0123")
		}
		return in.A + in.B, nil
	})
	return s
}

func call(h mcp.Handler, name, arguments string) error {
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
	req := mcp.NewRequest("tools/call", json.RawMessage(params))
	req.Principal = &mcp.Principal{Subject: "ada", Issuer: "keys"}
	req.Meta.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	_, err := h.Handle(context.Background(), req)
	return err
}

func TestALineForEachCallAndDecision(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	key, err := audit.ReadKey(filepath.Join(t.TempDir(), "keys", "audit"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(dir, audit.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	deny := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Name == "drop" {
				decide(ctx, note.Decision{Effect: audit.Denied, Rule: "team.json#2", Reason: "nobody drops tables"})
				return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "rule 2 denies it")
			}
			decide(ctx, note.Decision{Effect: audit.Allowed, Rule: "team.json#1"})
			return next.Handle(ctx, req)
		})
	}
	kept := func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return audit.Redacted(data) }
	h := mcp.Chain(adder(), log.Calls(audit.CallOptions{
		Describe:  func(_ *mcp.Request, r *audit.Record) { r.Server, r.Hash = "adder", "abc" },
		Arguments: kept, Result: kept,
	}), deny)
	for _, c := range [][2]string{{"add", `{"A":1,"B":2}`}, {"add", `{"A":100,"B":1}`}, {"drop", `{"password":"hunter2"}`}, {"none", `{}`}} {
		_ = call(h, c[0], c[1])
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line, err := range audit.Read(dir, audit.Filter{Principal: "ada"}) {
		if err != nil {
			t.Fatal(err)
		}
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l["trace"] != "0af7651916cd43dd8448eb211c80319c" || l["server"] != "adder" || l["definition"] != "abc" || l["call"] == "" {
			t.Errorf("got %s", line)
		}
		text := fmt.Sprint(l["kind"], " ", l["name"], " ")
		for _, name := range []string{"decision", "rule", "reason", "outcome", "code", "arguments", "result"} {
			if value, ok := l[name]; ok {
				text += fmt.Sprintf("%s=%v ", name, value)
			}
		}
		got = append(got, text)
	}
	want := []string{
		"call add decision=allow rule=team.json#1 outcome=ok arguments=map[A:1 B:2] result=map[content:[map[text:3 type:text]] structuredContent:3] ",
		"call add decision=allow rule=team.json#1 outcome=tool_error arguments=map[A:100 B:1] result=map[content:[map[text:*** type:text]] isError:true] ",
		"decision drop decision=deny rule=team.json#2 reason=nobody drops tables ",
		"call drop reason=rule 2 denies it (code -32602) outcome=error code=-32602 arguments=map[password:***] ",
		"call none decision=allow rule=team.json#1 reason=unknown tool",
	}
	if len(got) != len(want) {
		t.Fatalf("got %d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
	if r, err := audit.Verify(dir, key); err != nil || r.Count != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	count := func(f audit.Filter) (n int) {
		for range audit.Read(dir, f) {
			n++
		}
		return n
	}
	if n := count(audit.Filter{Kind: "call", Name: "AD"}); n != 2 {
		t.Errorf("%d calls of add", n)
	}
	if n := count(audit.Filter{Decision: "deny"}); n != 1 {
		t.Errorf("%d denied", n)
	}
}

func TestARequestThatCannotBeWrittenDownIsRefused(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "audit")
		key, err := audit.NewKey(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		log, err := audit.Open(dir, audit.Options{Key: key, GoOn: goOn})
		if err != nil {
			t.Fatal(err)
		}
		handled := 0
		h := log.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			handled++
			return mcp.Result{JSON: json.RawMessage(`{}`)}, nil
		}))
		if err := log.Close(); err != nil { // a closed log cannot be written
			t.Fatal(err)
		}
		first := call(h, "add", "{}")
		if goOn {
			if first != nil || handled != 1 {
				t.Errorf("going on: %v, handled %d times", first, handled)
			}
			continue
		}
		if first == nil || !strings.Contains(first.Error(), "its result is withheld: the audit log cannot be written") {
			t.Errorf("got %v", first)
		}
	}
}

func TestFollowReturnsNewLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	key, _ := audit.NewKey(make([]byte, 32))
	log, err := audit.Open(dir, audit.Options{Key: key, MaxFile: 300})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(&audit.Record{Kind: "call", Name: "before"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for i := 0; ctx.Err() == nil; i++ {
			_ = log.Append(&audit.Record{Kind: "call", Name: fmt.Sprint("after ", i)})
		}
	}()
	n, last := 0, -1
	for line, err := range audit.Follow(ctx, func() ([]string, error) { return []string{dir}, nil }, audit.Filter{Kind: "call"}) {
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Name string }
		var i int
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(l.Name, "after %d", &i); err != nil || last >= 0 && i != last+1 {
			t.Fatalf("got %s behind %d: %v", line, last, err)
		}
		last = i
		if n++; n == 100 {
			break
		}
	}
	cancel()
	<-writing
}

// A process that starts later begins a log of its own, whose first lines are new, too.
func TestFollowReturnsLinesOfALogThatBegins(t *testing.T) {
	key, _ := audit.NewKey(make([]byte, 32))
	folder := t.TempDir()
	var mu sync.Mutex
	var dirs []string
	begin := func(n int) {
		dir := filepath.Join(folder, fmt.Sprint("audit-", n))
		log, err := audit.Open(dir, audit.Options{Key: key})
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { log.Close() })
		if err := log.Append(&audit.Record{Kind: "call", Name: fmt.Sprint("in log ", n)}); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		dirs = append(dirs, dir)
	}
	begin(0)
	looked, hasBegun := 0, make(chan struct{})
	all := func() ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if looked++; looked == 2 {
			close(hasBegun)
		}
		return slices.Clone(dirs), nil
	}
	go func() {
		<-hasBegun
		begin(1)
	}()
	for line, err := range audit.Follow(t.Context(), all, audit.Filter{Kind: "call"}) {
		if err != nil || !strings.Contains(string(line), `"in log 1"`) || !strings.Contains(string(line), `"log":`) {
			t.Errorf("%s, %v", line, err)
		}
		break
	}
}

func ExampleLog_Calls() {
	dir, _ := os.MkdirTemp("", "audit")
	defer os.RemoveAll(dir)
	key, _ := audit.ReadKey(filepath.Join(dir, "key"))
	log, _ := audit.Open(filepath.Join(dir, "log"), audit.Options{Key: key})
	h := mcp.Chain(adder(), log.Calls(audit.CallOptions{})) // around any Handler
	_ = call(h, "add", `{"A":40,"B":2}`)
	_ = log.Close()
	report, _ := audit.Verify(filepath.Join(dir, "log"), key)
	fmt.Println(report.Lines, "lines,", report.Count, "faults")
	// Output: 2 lines, 0 faults
}

func TestLinesNameToolAndArguments(t *testing.T) {
	for definition, want := range map[string]string{
		`{"annotations":{"title":"x","destructiveHint":false,"readOnlyHint":true}}`: `{"readOnly":true,"destructive":false}`,
		`{"annotations":{"readOnlyHint":"yes"}}`:                                    "",
		`{"annotations":[]}`:                                                        "",
		`{}`:                                                                        "",
	} {
		if got := string(audit.HintsOf(json.RawMessage(definition))); got != want {
			t.Errorf("%s: got %s, want %s", definition, got, want)
		}
	}
	for arguments, want := range map[string]string{
		``: "[] false", `{}`: "[] false", `{"a":1,"b":"x","c":[{"d":null}]}`: "[] false",
		`{"a":"***","b":1,"c":[{"d":"https://x/?***"}],"d":{"e":"cut…"},"e":"a … b"}`: "[a c d] false",
		`"too long to be kept"`: "[] true",
	} {
		if members, all := audit.Altered(json.RawMessage(arguments)); fmt.Sprint(members, all) != want {
			t.Errorf("%s: got %v %v, want %s", arguments, members, all, want)
		}
	}
	for arguments, want := range map[string]string{``: "", `{}`: "{}", `{"a":1}`: `"not kept"`} {
		if got := string(audit.Omitted(json.RawMessage(arguments))); got != want {
			t.Errorf("%s: got %s, want %s", arguments, got, want)
		}
	}
}

// A decision is the note of one.
type decision note.Decision

func (d decision) Decision() (note.Decision, bool) { return note.Decision(d), true }

// decide notes a decision like middleware.
func decide(ctx context.Context, d note.Decision) {
	mcp.NoteObserverOf(ctx, note.Policy).Note(note.Policy, decision(d))
}
