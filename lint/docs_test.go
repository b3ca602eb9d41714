package lint

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// The page has a section for each rule; what it calls bad has this finding and no other, and
// what it calls good has none.
func TestThePageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []Rule
	under := Rule("")
	for _, m := range regexp.MustCompile("(?m)^### (.+)$|^```json (bad|good)\n(.*)\n```$").FindAllSubmatch(page, -1) {
		if len(m[1]) > 0 {
			under = Rule(m[1])
			rules = append(rules, under)
			continue
		}
		found := Check(&Seen{Tools: []json.RawMessage{m[3]}})
		if bad := string(m[2]) == "bad"; bad && (len(found) != 1 || found[0].Rule != under) || !bad && len(found) > 0 {
			t.Errorf("%s, %s: found %q", under, m[2], found)
		}
	}
	if len(rules) != len(Rules()) {
		t.Fatalf("the page has %q, want %q", rules, Rules())
	}
	for i, rule := range Rules() {
		if rules[i] != rule {
			t.Errorf("section %d is %s, want %s", i+1, rules[i], rule)
		}
	}
}
