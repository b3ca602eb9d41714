package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// insideUp runs a junction up with rules, a log and a review, and a console that asks it.
func insideUp(t *testing.T) (r *running, ask func(method, path, body string) (int, string)) {
	t.Helper()
	clitest.Alone(t)
	clitest.Setenv(t, "JUNCTION_STATE", t.TempDir())
	script := self(t, "serve", "everything")
	argv := []string{"sh", "-c", `echo "the first line" >&2; exec "$@"`, "sh"}
	servers := map[string]any{"one": map[string]any{"command": argv[0], "args": append(argv[1:], script...)}}
	for name, value := range map[string]any{
		"servers.json": map[string]any{"mcpServers": servers, "junction": map[string]any{"profiles": map[string]any{"small": map[string]any{"servers": []string{"one"}, "tools": "all"}}}},
		"rules.json":   map[string]any{"rules": []any{map[string]any{"name": "no sums of many", "effect": "deny", "tool": "add", "when": "args.a > 100"}}, "default": "allow"},
	} {
		text, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(clitest.In(t, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r = serving(t, "up", "--config", "servers.json", "--policy", "rules.json", "--audit", "--review", "all")
	asked := consoleServed(t)
	return r, func(method, path, body string) (int, string) {
		t.Helper()
		return asked(method, "instances/"+strconv.Itoa(os.Getpid())+"/"+path, body)
	}
}

func TestTheConsoleSeesInsideAGateway(t *testing.T) {
	r, ask := insideUp(t)
	get := func(path string, into any) {
		t.Helper()
		status, text := ask("GET", path, "")
		if err := json.Unmarshal([]byte(text), into); status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %v %.300s", path, status, err, text)
		}
	}
	var offered struct {
		Known bool
		Tools []struct{ Name, Own, State string }
	}
	for end := time.Now().Add(guardTime); !offered.Known; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(r.stderr)
		}
		get("servers/one/definitions", &offered)
	}
	if n := len(offered.Tools); n < 20 || offered.Tools[0].Name != "" || offered.Tools[0].State != "new" {
		t.Errorf("of %d tools that nobody approved the first is %+v", n, offered.Tools[0])
	}

	var waiting struct {
		Servers []struct {
			Server, Hash string
			Definitions  []struct {
				Name    string
				Changed bool
				Fields  []struct{ Field, Text string }
			}
		}
	}
	get("unapproved", &waiting)
	if len(waiting.Servers) != 1 || waiting.Servers[0].Server != "one" {
		t.Fatalf("what waits for approval is %+v", waiting)
	}
	for _, d := range waiting.Servers[0].Definitions {
		if d.Changed || len(d.Fields) == 0 || d.Fields[0].Field == "kind" || d.Fields[0].Text == "" {
			t.Errorf("what is to be read of a new definition is %+v", d)
		}
	}
	if status, text := ask("POST", "servers/one/approve?hash="+waiting.Servers[0].Hash, ""); status != http.StatusNoContent {
		t.Fatalf("the approval gets %d %s", status, text)
	}
	for end := time.Now().Add(guardTime); offered.Tools[0].State != "same" || offered.Tools[0].Name == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after the approval it is %+v", offered.Tools[0])
		}
		get("servers/one/definitions", &offered)
	}
	if got, want := offered.Tools[0].Name, "one__"+offered.Tools[0].Own; got != want {
		t.Errorf("clients see %q, want %q", got, want)
	}

	var log struct{ Lines []string }
	get("servers/one/log", &log)
	if !reflect.DeepEqual(log.Lines, []string{"the first line"}) {
		t.Errorf("it wrote %q", log.Lines)
	}

	var in struct {
		Profiles []up.ProfileShown
		Policy   []string
		Review   string
		Audit    string
		Tokens   int
	}
	get("gateway", &in)
	if len(in.Profiles) != 1 || in.Profiles[0].Endpoint != r.url+"/small" || len(in.Policy) != 1 || in.Review != "all" ||
		filepath.Base(in.Audit) != "audit" || in.Tokens < 1_000 {
		t.Errorf("inside it is %+v", in)
	}
}

func TestTheConsoleAsksTheRulesAndTheLogOfAGateway(t *testing.T) {
	r, ask := insideUp(t)
	for arguments, want := range map[string]string{`{"a":1,"b":2}`: "allow", `{"a":101,"b":2}`: "deny"} {
		status, text := ask("POST", "explain", `{"server":"one","tool":"add","arguments":`+arguments+`}`)
		var decision policies.ExplanationShown
		if err := json.Unmarshal([]byte(text), &decision); status != http.StatusOK || err != nil || string(decision.Effect) != want {
			t.Errorf("%s gets %d %v %s, want %s", arguments, status, err, text, want)
		}
	}
	for body, want := range map[string]int{"{": http.StatusBadRequest, `{"server":"none","tool":"add"}`: http.StatusNotFound, `{"server":"one","tool":"add","profile":"none"}`: http.StatusNotFound} {
		if status, text := ask("POST", "explain", body); status != want || !strings.HasPrefix(text, `{"error":"`) {
			t.Errorf("%s gets %d %s, want %d", body, status, text, want)
		}
	}

	runs(t, "", "call", r.url, "one__add", "a=1", "b=2") // is not approved, and so unknown
	status, text := ask("GET", "audit?kind=call&tool=add&limit=1", "")
	var found struct {
		Count int
		Lines []struct{ Name, Outcome string }
	}
	if err := json.Unmarshal([]byte(text), &found); status != http.StatusOK || err != nil || found.Count < 1 || len(found.Lines) != 1 || found.Lines[0].Name != "one__add" || found.Lines[0].Outcome != "tool_error" {
		t.Errorf("the log has %d %v %s", status, err, text)
	}
	for kinds, want := range map[string]bool{"call": false, "call,decision": false, "decision,call,checkpoint": true, "": true} { // it begins with a signature
		_, text := ask("GET", "audit?kind="+kinds, "")
		if got := strings.Contains(text, `"kind":"checkpoint"`); got != want || !strings.Contains(text, `"kind":"call"`) && kinds == "call" {
			t.Errorf("of the kinds %q the log has %s", kinds, text)
		}
	}
	for query, want := range map[string]string{"limit=0": "expected 1 to 1000", "limit=x": "invalid syntax", "since=soon": `"since: expected a time`,
		"outcome=bogus": `outcome: expected one of ok, tool_error, input_required, cancelled, error, got \"bogus\"`, "outcome=denied": "to find calls that rules refused, use decision deny",
		"decision=no": "decision: expected one of allow, ask, deny", "kind=call,calls": `kind: expected one of call, decision, admin, checkpoint, note, expired, all, got \"calls\"`} {
		if status, text := ask("GET", "audit?"+query, ""); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s gets %d %s", query, status, text)
		}
	}
	var report struct{ Lines, FaultCount int }
	status, text = ask("POST", "audit/verify", "")
	if err := json.Unmarshal([]byte(text), &report); status != http.StatusOK || err != nil || report.FaultCount != 0 || report.Lines == 0 {
		t.Errorf("verifying it gives %d %v %s", status, err, text)
	}
}

// A Handler that answers without a look at the body must not end the connection while the console still writes it.
func TestOrdersWithUnreadBodiesAreAnswered(t *testing.T) {
	_, ask := insideUp(t)
	for range 30 {
		if status, text := ask("POST", "servers/none/restart", strings.Repeat("x", 300<<10)); status != http.StatusNotFound {
			t.Fatalf("it gets %d %s", status, text)
		}
	}
}

func TestConsoleControlsOnlyRunningProcesses(t *testing.T) {
	r, ask := insideUp(t)
	if status, text := ask("POST", "servers/one/restart", ""); status != http.StatusAccepted {
		t.Errorf("a restart gets %d %s", status, text)
	}
	printedLast(t, r, "one", "restarted in the console", "connected, ")
	for path, want := range map[string]string{
		"servers/none/log":         `{"error":"there is no server of this name"}` + "\n",
		"servers/none/definitions": `{"error":"there is no server of this name"}` + "\n",
		"nothing":                  "404 page not found\n",
	} {
		if status, text := ask("GET", path, ""); status != http.StatusNotFound || text != want {
			t.Errorf("%s gets %d %q, want %q", path, status, text, want)
		}
	}
	if status, text := ask("POST", "servers/none/restart", ""); status != http.StatusNotFound {
		t.Errorf("a restart of nothing gets %d %s", status, text)
	}
}

func TestTheConsoleSaysThatAProcessIsGone(t *testing.T) {
	clitest.Alone(t)
	ask := consoleServed(t)
	for path, want := range map[string]int{"instances/1/status": http.StatusNotFound, "instances/x/status": http.StatusBadRequest, "instances/..%2f1/status": http.StatusBadRequest} {
		if status, text := ask("GET", path, ""); status != want {
			t.Errorf("%s gets %d %s, want %d", path, status, text, want)
		}
	}
	if _, text := ask("GET", "instances/1/status", ""); !strings.Contains(text, "no junction up has process 1;") {
		t.Errorf("a process that is not there: %s", text)
	}
}

// printedLast waits until the lines of a server that up printed last are these, as far as each says.
func printedLast(t *testing.T, r *running, server string, want ...string) {
	t.Helper()
	for end := time.Now().Add(guardTime); ; time.Sleep(20 * time.Millisecond) {
		var said []string
		for line := range strings.Lines(r.stderr.String()) {
			if words := strings.Fields(line); len(words) > 2 && words[1] == server && strings.Count(words[0], ":") == 2 {
				said = append(said, strings.Join(words[2:], " "))
			}
		}
		if last := said[max(0, len(said)-len(want)):]; slices.EqualFunc(last, want, strings.HasPrefix) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of %s was printed %q, want %q at its end", server, said, want)
		}
	}
}
