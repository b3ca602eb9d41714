package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHidingRulesAddUp(t *testing.T) {
	rules := []Rule{
		{Effect: Allow, Tool: "*", When: "principal.subject != 'ada'", Redact: &Redact{Results: []string{"/salary"}}},
		{Effect: Allow, Tool: "find", Redact: &Redact{Arguments: []string{"/key"}, Results: []string{"/items/*/email"}}},
		{Effect: Allow, Tool: "find", When: "args.none == 1", Redact: &Redact{Results: []string{"/failed"}}},
		{Effect: Ask, Tool: "find", When: "args.ask", Redact: &Redact{Results: []string{"/asked"}}},
		{Effect: Deny, Tool: "drop"},
	}
	p, err := Compile(rules, Options{Default: Allow})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ who, tool, arguments, want string }{
		{"ada", "list", `{}`, "allow [] []"},
		{"bob", "list", `{}`, "allow [] [/salary]"},
		{"ada", "find", `{"none":2,"ask":false}`, "allow [/key] [/items/*/email]"},
		{"ada", "find", `{"ask":false}`, "allow [/key] [/items/*/email /failed]"},
		{"bob", "find", `{"none":2,"ask":true}`, "ask [/key] [/asked /items/*/email /salary]"},
	} {
		d := p.Decide(context.Background(), Input{Tool: test.tool, Arguments: []byte(test.arguments), Principal: Principal{Subject: test.who}})
		hidden := d.Redact()
		if !sameWords(fmt.Sprint(d.Effect, " ", hidden.Arguments, " ", hidden.Results), test.want) {
			t.Errorf("%+v: got %s %v", test, d.Effect, hidden)
		}
	}
	for tool, want := range map[string]bool{"find": true, "list": true} {
		if got := p.RedactsResults("s", tool); got != want {
			t.Errorf("results of %s are hidden: %v", tool, got)
		}
	}
	only, err := Compile(rules[1:2], Options{})
	if err != nil || only.RedactsResults("s", "list") {
		t.Errorf("results of a tool that no rule is for: %v", err)
	}
}

// sameWords compares texts regardless of the order of words in brackets.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for i, text := range []string{a, b} {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" []", r) }) {
			count[word] += 1 - 2*i
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return strings.Count(a, "[") == strings.Count(b, "[")
}

func TestRulesThatCannotHideAreFaults(t *testing.T) {
	many := make([]string, maxRedacted+1)
	for name, test := range map[string]struct {
		rule Rule
		want string
	}{
		"a rule that denies": {Rule{Effect: Deny, Redact: &Redact{Results: []string{"/a"}}}, "redact: goes only with allow and ask"},
		"nothing":            {Rule{Effect: Allow, Redact: &Redact{}}, `redact: expected "arguments" or "results"`},
		"no place":           {Rule{Effect: Allow, Redact: &Redact{Results: []string{"/"}}}, `redact: "/" names no place`},
		"no first slash":     {Rule{Effect: Allow, Redact: &Redact{Results: []string{"entities.*.observations"}}}, `redact: "entities.*.observations" is not a path: one begins with "/", such as /user/email`},
		"no path":            {Rule{Effect: Allow, Redact: &Redact{Arguments: []string{"/a~"}}}, `redact: "/a~" is not a path`},
		"too many":           {Rule{Effect: Allow, Redact: &Redact{Arguments: many}}, "more than 100 paths"},
	} {
		if _, err := Compile([]Rule{test.rule}, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRulesThatHideAreReadWrittenAndRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	one := Rule{Effect: Allow, Tool: "a", Redact: &Redact{Results: []string{"/x"}}}
	other := Rule{Effect: Allow, Tool: "a", Redact: &Redact{Results: []string{"/y"}}}
	plain := Rule{Effect: Allow, Tool: "a"}
	for _, r := range []Rule{one, other, plain, one} { // the last one is already there
		if err := Append(t.Context(), path, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(t.Context(), path, Rule{Effect: Allow, Tool: "a", Redact: &Redact{Results: []string{"/x"}}}); err != nil {
		t.Fatal(err)
	}
	file, err := Load(path, LoadOptions{})
	if err != nil || len(file.Rules) != 2 || !same(Rule{Effect: Allow, Tool: "a", Redact: &Redact{Results: []string{"/y"}}, Source: file.Rules[0].Source}, file.Rules[0]) || file.Rules[1].Redact != nil {
		text, _ := os.ReadFile(path)
		t.Errorf("%v: %s", err, text)
	}
	if text := one.String(); text != `allow tool "a" of any server, hiding /x` {
		t.Errorf("it is called %s", text)
	}
}
