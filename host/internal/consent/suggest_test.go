package consent

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/policy"
)

func TestAlwaysFitsTheCall(t *testing.T) {
	tests := []struct {
		name, arguments string
		want            []string
	}{
		{"a call without a path", `{"text":"hello"}`, []string{"exactly this call", "this tool, with any arguments", "all tools of this server"}},
		{"a call about a file", `{"path":"/home/ada/notes/today.txt","text":"x"}`, []string{"exactly this call", `this tool, below the same folder, with any "text"`, "this tool, with any arguments", "all tools of this server"}},
		{"a call with two texts", `{"path":"/tmp/a/b","text":"x","title":"y"}`, []string{"exactly this call", `this tool, below the same folder, with any "text", any "title"`, "this tool, with any arguments", "all tools of this server"}},
		{"an edit", `{"path":"/tmp/a/b","dryRun":false,"edits":[{"oldText":"x","newText":"y"}]}`, []string{"exactly this call", `this tool, below the same folder, with any "edits"`, "this tool, with any arguments", "all tools of this server"}},
		{"a list of calls about files", `{"path":"/tmp/a/b","files":[{"to":"/etc/x"}]}`, []string{"exactly this call", "this tool, below the same folder", "this tool, with any arguments", "all tools of this server"}},
		{"a call about two files", `{"from":"/home/ada/a","to":"/home/ada/b","force":true}`, []string{"exactly this call", "this tool, below the same folder", "this tool, with any arguments", "all tools of this server"}},
		{"a path that climbs", `{"path":"/home/ada/../bob/x"}`, []string{"exactly this call", "this tool, with any arguments", "all tools of this server"}},
		{"a file at the very top", `{"path":"/etc"}`, []string{"exactly this call", "this tool, with any arguments", "all tools of this server"}},
		{"arguments that are no object", `[]`, []string{"this tool, with any arguments", "all tools of this server"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := policy.Input{Server: "files", Tool: "write", Arguments: json.RawMessage(test.arguments)}
			var labels []string
			for _, a := range alwaysRules(in) {
				labels = append(labels, a.Label)
				rules, err := policy.Compile([]policy.Rule{a.Rule}, policy.Options{})
				if err != nil {
					t.Fatalf("%s: %v", a.Label, err)
				}
				if d := rules.Decide(t.Context(), in); d.Effect != policy.Allow {
					t.Errorf("%s: the rule %v decides %s about the call that it was made of", a.Label, a.Rule, d.Effect)
				}
			}
			if !slices.Equal(labels, test.want) {
				t.Errorf("offered %q, want %q", labels, test.want)
			}
		})
	}
}

func TestARuleForAFolderDoesNotReachBeyondIt(t *testing.T) {
	in := policy.Input{Server: "files", Tool: "write", Arguments: json.RawMessage(`{"path":"/home/ada/notes/today.txt","text":"x"}`)}
	rules, err := policy.Compile([]policy.Rule{alwaysRules(in)[1].Rule}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]policy.Effect{
		`{"path":"/home/ada/notes/a/b.txt","text":"y"}`:                           policy.Allow,
		`{"path":"/home/ada/notes2/b.txt","text":"y"}`:                            policy.Ask,
		`{"path":"/home/ada/notes/../.ssh/id_rsa","text":"y"}`:                    policy.Ask,
		`{"path":"notes/b.txt","text":"y"}`:                                       policy.Ask,
		`{"path":"/home/ada/notes/b.txt","text":"y","destination":"/etc/cron.d"}`: policy.Ask,
		`{"path":"/home/ada/notes/b.txt","text":"y","more":["/etc/shadow"]}`:      policy.Ask,
	} {
		in.Arguments = json.RawMessage(arguments)
		if d := rules.Decide(t.Context(), in); d.Effect != want {
			t.Errorf("%s: %s, want %s", arguments, d.Effect, want)
		}
	}
}

// The label of a rule for a folder names what may differ, so the next edit there is one of it.
func TestARuleForAFolderHoldsForTheNextEdit(t *testing.T) {
	in := policy.Input{Server: "files", Tool: "edit_file", Arguments: json.RawMessage(`{"path":"/home/ada/a.txt","edits":[{"oldText":"tea","newText":"coffee"}]}`)}
	rules, err := policy.Compile([]policy.Rule{alwaysRules(in)[1].Rule}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]policy.Effect{
		`{"path":"/home/ada/b.txt","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}`: policy.Allow,
		`{"path":"/home/bob/b.txt","edits":[{"oldText":"a","newText":"b"}]}`:                               policy.Ask,
		`{"path":"/home/ada/b.txt","edits":[],"dryRun":true}`:                                              policy.Ask,
	} {
		in.Arguments = json.RawMessage(arguments)
		if d := rules.Decide(t.Context(), in); d.Effect != want {
			t.Errorf("%s: %s, want %s", arguments, d.Effect, want)
		}
	}
}
