package lint

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the rules into docs/lint.md again")

// section is a rule as docs/lint.md has it.
func section(rule Rule) string {
	name := rule.Severity.String()
	text := "### " + rule.Name + "\n\n" + strings.ToUpper(name[:1]) + name[1:] + ". " + rule.Doc + "\n\n"
	if rule.Bad != "" {
		text += "```json bad\n" + rule.Bad + "\n```\n\n```json good\n" + rule.Good + "\n```\n\n"
	}
	return text
}

func TestPageHasTheRules(t *testing.T) {
	const page, begin, end = "../docs/lint.md", "Each example is the definition of one or two tools, first with the mistake, then without.\n\n", "## Findings in real servers\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	want := ""
	for _, rule := range Rules() {
		want += section(rule)
	}
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from the table of rules: go test ./lint -update writes it", page)
	}
}

func TestBadExampleHasOneFindingAndGoodHasNone(t *testing.T) {
	check := func(definitions string) []Finding {
		seen := &Seen{}
		for line := range strings.Lines(definitions) {
			seen.Tools = append(seen.Tools, json.RawMessage(line))
		}
		return Check(seen)
	}
	for _, rule := range Rules() {
		if (rule.Bad == "") != (rule.Good == "") || rule.Name == "" || rule.Severity == 0 || rule.Doc == "" {
			t.Errorf("%q: its row is not complete", rule.Name)
		}
		if rule.Bad == "" {
			continue
		}
		if found := check(rule.Bad); len(found) != 1 || found[0].Rule != rule.Name {
			t.Errorf("%s, bad: found %q", rule.Name, found)
		}
		if found := check(rule.Good); len(found) != 0 {
			t.Errorf("%s, good: found %q", rule.Name, found)
		}
	}
}
