package injected

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/model"
)

func FuzzTheSplitMakesNoDifference(f *testing.F) {
	for _, text := range damage {
		f.Add(text, 7)
	}
	f.Add("000000call 00", 7) // contains the text that the check looks for
	f.Fuzz(func(t *testing.T, text string, at int) {
		for _, complete := range []bool{true, false} {
			whole := parse(testTools, complete, text)
			if got := parse(testTools, complete, strings.Split(text, "")...); utf8.ValidString(text) && got != whole {
				t.Errorf("character by character:\n%s\nwhole:\n%s", got, whole)
			}
			if at = max(0, min(at, len(text))); parse(testTools, complete, text[:at], text[at:]) != whole {
				t.Errorf("split at %d it is another than whole:\n%s", at, whole)
			}
		}
		// Text is quoted, so only a call has a line that begins with the word.
		if got := parse(nil, true, text); strings.Contains("\n"+got, "\ncall ") && !strings.ContainsAny(text, "<[") {
			t.Errorf("a call of no tool, without a mark: %s", got)
		}
	})
}

// Time that is not linear shows in a long text.
func TestParsingTakesLinearTime(t *testing.T) {
	for _, piece := range []string{"[", "{", "\n{", "\n[", "<", "<tool_call>", "```\n", "`", `{"name":`, "<tool_call>{\"a\":\"", "\" ", "<think>", "[TOOL_CALLS]", "<function=f>", "\n[f(", "</tool_call>", " ", "\n```json\n{", "<|channel|>"} {
		text := strings.Repeat(piece, 100_000/len(piece))
		if took := threadtime.Of(func() { parse(testTools, true, text) }); took > 2*time.Second {
			t.Errorf("%q: %v", piece, took)
		}
	}
}

func FuzzLooseJSONIsJSON(f *testing.F) {
	f.Add(`{'a': [1, 2,], b: "x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if raw, ok := readLoose(text); ok {
			if again, ok := readLoose(string(raw)); !ok || string(again) != string(raw) {
				t.Errorf("%s is read as %s", raw, again)
			}
		}
	})
}

var _ model.Model = (*injected)(nil)
