package history

import (
	"testing"

	"github.com/junction-mcp/junction/model"
)

// Arguments that are not an object must not run a tool without arguments.
func TestOtherArgumentsThanAnObjectAreMalformed(t *testing.T) {
	for _, test := range []struct{ written, arguments, malformed string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{"\n{}", "\n{}", ""},
		{"", "{}", ""},
		{"null", "{}", ""},
		{"[]", "{}", `expected an object, found "[]"`},
		{`"x"`, "{}", `expected an object, found "\"x\""`},
		{"1", "{}", `expected an object, found "1"`},
	} {
		m := &model.Message{Parts: []model.Part{{Call: &model.Call{ID: "1", Name: "x", Arguments: []byte(test.written)}}}}
		Fit(m, map[string]bool{}, func() string { return "2" })
		got := m.Parts[0].Call
		if string(got.Arguments) != test.arguments || got.Malformed != test.malformed || got.Malformed != "" && got.Raw != test.written {
			t.Errorf("%q: got %q, malformed %q, raw %q", test.written, got.Arguments, got.Malformed, got.Raw)
		}
	}
}
