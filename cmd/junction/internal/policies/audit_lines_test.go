package policies_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
)

func TestLastLines(t *testing.T) {
	fault := errors.New("broken")
	for _, test := range []struct {
		lines, most int
		fails       bool
		want        string
	}{
		{5, -1, false, "0 1 2 3 4"}, {5, 2, false, "3 4"}, {5, 5, false, "0 1 2 3 4"}, {5, 9, false, "0 1 2 3 4"}, {5, 0, false, ""}, {0, 3, false, ""},
		{7, 3, false, "4 5 6"}, {5, 2, true, "broken"}, {5, -1, true, "0 1 2 3 4 broken"},
	} {
		var got []string
		for line, err := range policies.LastLines(func(yield func(json.RawMessage, error) bool) {
			for i := range test.lines {
				if !yield(json.RawMessage(strconv.Itoa(i)), nil) {
					return
				}
			}
			if test.fails {
				yield(nil, fault)
			}
		}, test.most) {
			if err != nil {
				line = json.RawMessage(err.Error())
			}
			got = append(got, string(line))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%d of %d lines are %q, want %q", test.most, test.lines, text, test.want)
		}
	}
}

// A reason that names the rule is not followed, nor follows, by that rule once more.
func TestReadableLineNamesItsRuleOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"":                                 "rule deny drop (p.json:1)",
		"the rule deny drop (p.json:1)":    "rule deny drop (p.json:1)",
		"it is kept; deny drop (p.json:1)": "reason it is kept; deny drop (p.json:1)",
		"nothing is dropped":               "rule deny drop (p.json:1)  reason nothing is dropped",
	} {
		line, err := json.Marshal(map[string]string{"time": "2026-11-29T03:00:00Z", "kind": "decision", "name": "x", "rule": "deny drop (p.json:1)", "reason": reason})
		if err != nil {
			t.Fatal(err)
		}
		if got := policies.FormatLine(line); !strings.HasSuffix(got, "  x  "+want) {
			t.Errorf("%q: %q, want %q at its end", reason, got, want)
		}
	}
}
