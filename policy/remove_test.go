package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRemoveLeavesTheOtherRulesAsTheyAre(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{"the first", "{\"rules\": [\n  {\"effect\": \"ask\", \"tool\": \"x\"}, // of x\n  {\"effect\": \"deny\"} // all\n]}", "{\"rules\": [\n  {\"effect\": \"deny\"} // all\n]}"},
		{"the last, with what stands above it", "{\"rules\": [\n  {\"effect\": \"deny\"}, // all\n  // of x\n  {\"effect\": \"ask\", \"tool\": \"x\"} // here\n]}", "{\"rules\": [\n  {\"effect\": \"deny\"} // all\n  ]}"},
		{"the last, with a comma behind it", "{\"rules\": [\n  {\"effect\": \"deny\"},\n  {\"effect\": \"ask\", \"tool\": \"x\"},\n]}", "{\"rules\": [\n  {\"effect\": \"deny\"}\n]}"},
		{"the only one", "{\"rules\": [\n  {\"effect\": \"ask\", \"tool\": \"x\"}\n]}", "{\"rules\": [\n]}"},
		{"on one line", `{"rules": [{"effect":"deny"}, {"effect":"ask","tool":"x"}, {"effect":"allow"}]}`, `{"rules": [{"effect":"deny"}, {"effect":"allow"}]}`},
		{"a note before it on its line", "{\"rules\": [{\"effect\":\"deny\"}, // all\n {\"effect\":\"ask\",\"tool\":\"x\"}, {\"effect\":\"allow\"}]}", "{\"rules\": [{\"effect\":\"deny\"}, // all\n {\"effect\":\"allow\"}]}"},
		{"a note of several lines", "{\"rules\": [{\"effect\":\"deny\"}, /* a\n b */ {\"effect\":\"ask\",\"tool\":\"x\"}]}", `{"rules": [{"effect":"deny"}]}`},
		{"one of two that are equal", `{"rules": [{"effect":"ask","tool":"x"},{"effect":"ask","tool":"x"}]}`, `{"rules": [{"effect":"ask","tool":"x"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.json")
			if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Remove(t.Context(), path, Rule{Effect: Ask, Tool: "x", Source: "policy.json:3"}); err != nil {
				t.Fatal(err)
			}
			if after, _ := os.ReadFile(path); string(after) != test.after {
				t.Errorf("got\n%s\nwant\n%s", after, test.after)
			}
		})
	}
}

func TestMissingRulesAreNotRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	const text = `{"rules": [{"effect": "deny"}], "trusted": ["b@1", "a", "b@1"]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Remove(t.Context(), path, Rule{Effect: Ask}), RemoveTrusted(t.Context(), path, "b")); !errors.Is(err, ErrNotThere) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != text {
		t.Errorf("it became %s", after)
	}
	if err := RemoveTrusted(t.Context(), path, "b@1"); err != nil {
		t.Fatal(err)
	}
	if file, err := Load(path, LoadOptions{}); err != nil || !slices.Equal(file.Trusted, []string{"a"}) || len(file.Rules) != 1 {
		t.Errorf("got %+v, %v", file, err)
	}
}

func TestAPolicyWithoutARule(t *testing.T) {
	deny := Rule{Effect: Deny, Tool: "x", Source: "session"}
	p, err := Compile([]Rule{deny, {Effect: Deny, Tool: "x", Source: "policy.json:1"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fewer, had := p.Without(deny)
	if rules := fewer.Rules(); !had || rules[0].Source != "policy.json:1" || len(rules) != len(p.Rules())-1 {
		t.Errorf("%v, %v", had, rules)
	}
	if same, had := fewer.Without(deny); had || same != fewer {
		t.Error("it had the rule still")
	}
}

func FuzzFilesWithoutARuleHoldTheOthers(f *testing.F) {
	f.Add(`{"rules": [{"effect": "deny"} // x` + "\n" + `]}`)
	f.Add("{\"rules\": [{\"effect\": \"ask\"}, // a\n{\"effect\": \"deny\"},// b\n]}")
	f.Add("{\"rules\": [/*a*/{\"effect\": \"ask\"}/*b\n*/,/**/{\"effect\": \"deny\"}/*\n*/]}")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := Parse("p", []byte(text), LoadOptions{})
		if err != nil {
			return
		}
		for i := range before.Rules {
			after, err := withoutElement("p", []byte(text), "rules", i)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			file, err := Parse("p", after, LoadOptions{})
			if err != nil || len(file.Rules) != len(before.Rules)-1 {
				t.Fatalf("%q became %q: %v", text, after, err)
			}
		}
	})
}
