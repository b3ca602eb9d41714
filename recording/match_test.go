package recording

import (
	"fmt"
	"testing"
)

func TestParametersAreComparedByValue(t *testing.T) {
	const (
		one = "0b8f3a52-6c1e-4d7a-9f00-1234567890ab"
		two = "AAAAAAAA-6c1e-4d7a-9f00-1234567890ab"
	)
	for _, test := range []struct {
		recorded, given string
		same, template  bool
		pairs           string
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b": [true , null], "a" : 1.0 } `, true, true, "[]"},
		{`{"a":"\u00e9"}`, `{"a":"é"}`, true, true, "[]"},
		{`{"a":1,"_meta":{"x":1}}`, `{"a":1,"_meta":{"y":2},"requestState":"s","inputResponses":{}}`, true, true, "[]"},
		{``, `{}`, true, true, "[]"},
		{`{"a":1}`, `{"a":2}`, false, false, ""},
		{`{"a":1}`, `{"a":"1"}`, false, false, ""},
		{`{"a":1}`, `{}`, false, false, ""},
		{`{}`, `{"a":1}`, false, false, ""},
		{`{"a":[1]}`, `{"a":[1,2]}`, false, false, ""},
		{`{"a":[1,2]}`, `{"a":[1]}`, false, false, ""},
		{`{"id":"` + one + `"}`, `{"id":"` + two + `"}`, false, true, "[{" + one + " " + two + "}]"},
		{`{"uri":"note://` + one + `/x"}`, `{"uri":"note://` + two + `/x"}`, false, true, "[{" + one + " " + two + "}]"},
		{`{"uri":"note://` + one + `/x"}`, `{"uri":"note://` + two + `/y"}`, false, false, ""},
		{`{"id":"` + one + `"}`, `{"id":"no id"}`, false, false, ""},
		{`{"at":"2026-11-25T10:00:00Z"}`, `{"at":"2027-01-01T00:00:00.123+01:00"}`, false, true, "[{2026-11-25T10:00:00Z 2027-01-01T00:00:00.123+01:00}]"},
		{`{"day":"2026-11-25"}`, `{"day":"2026-11-26"}`, false, true, "[{2026-11-25 2026-11-26}]"},
		{`{"at":1764000000}`, `{"at":1764000123}`, false, true, "[]"},
		{`{"at":1764000000123}`, `{"at":1764000000}`, false, true, "[]"},
		{`{"at":12}`, `{"at":13}`, false, false, ""},
		{`{"h":"0123456789abcdef"}`, `{"h":"fedcba9876543210"}`, false, true, "[{0123456789abcdef fedcba9876543210}]"},
		{`{"h":"0123456789abcdef"}`, `{"h":"fedcba9876543210ff"}`, false, false, ""},
		{`{"u":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}`, `{"u":"01BX5ZZKBKACTAV9WEVGEMMVRZ"}`, false, true, "[{01ARZ3NDEKTSV4RRFFQ69G5FAV 01BX5ZZKBKACTAV9WEVGEMMVRZ}]"},
		{`{"t":"{{secret-1}}"}`, `{"t":"whatever"}`, false, true, "[{{{secret-1}} whatever}]"},
		{`{"t":"{{secret-1}}"}`, `{"t":42}`, false, true, "[]"},
		{`{"t":"use {{secret-1}} and {{secret-2}}."}`, `{"t":"use a and b."}`, false, true, "[{{{secret-1}} a} {{{secret-2}} b}]"},
		{`{"t":"use {{secret-1}}."}`, `{"t":"take a."}`, false, false, ""},
		{`{"t":"deadbeefdeadbeef"}`, `{"t":"deadbeefdeadbeef"}`, true, true, "[]"},
	} {
		if exact := (&comparison{}).params([]byte(test.recorded), []byte(test.given)); exact != test.same {
			t.Errorf("%s and %s are the same: %v, want %v", test.recorded, test.given, exact, test.same)
		}
		c := comparison{templates: true}
		if got := c.params([]byte(test.recorded), []byte(test.given)); got != test.template {
			t.Errorf("%s and %s differ only where they may: %v, want %v", test.recorded, test.given, got, test.template)
		} else if got && fmt.Sprint(c.pairs) != test.pairs {
			t.Errorf("%s and %s differ in %v, want %s", test.recorded, test.given, c.pairs, test.pairs)
		}
	}
}

func TestResponsesRepeatSentValues(t *testing.T) {
	s := substitute([]pair{{"old", "new\"quoted"}, {"older", "newer"}})
	if got, want := string(s.json([]byte(`{"old":["an older one", "old\u0021", 1]}`))), `{"new\"quoted":["an newer one", "new\"quoted!", 1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const same = `{ "a" : "\u00e9" }`
	if got := string(s.json([]byte(same))); got != same {
		t.Errorf("%s became %s", same, got)
	}
}
