package form

import (
	"net/url"
	"strings"
	"testing"
)

func field(t *testing.T, property string) *Field {
	t.Helper()
	fields, err := Read([]byte(`{"type":"object","properties":{"a":` + property + `},"required":["a"]}`))
	if err != nil || len(fields) != 1 || fields[0].Name != "a" || !fields[0].Required {
		t.Fatalf("%v, %v", fields, err)
	}
	return fields[0]
}

func TestFits(t *testing.T) {
	for _, test := range []struct{ name, property, typed, want string }{
		{"text", `{"type":"string"}`, "x y", `"x y"`},
		{"text that is too short", `{"type":"string","minLength":3}`, "ab", "error"},
		{"an integer", `{"type":"integer","minimum":1}`, "7", "7"},
		{"an integer that is too small", `{"type":"integer","minimum":1}`, "0", "error"},
		{"no number", `{"type":"number"}`, "seven", "error"},
		{"yes", `{"type":"boolean"}`, "Y", "true"},
		{"perhaps", `{"type":"boolean"}`, "perhaps", "error"},
		{"an e-mail address", `{"type":"string","format":"email"}`, "a@b.example", `"a@b.example"`},
		{"no e-mail address", `{"type":"string","format":"email"}`, "a", "error"},
		{"no URI", `{"type":"string","format":"uri"}`, "a", "error"},
		{"a date that does not exist", `{"type":"string","format":"date"}`, "2026-02-30", "error"},
		{"a choice by title", `{"type":"string","oneOf":[{"const":"r","title":"Red"}]}`, "Red", `"r"`},
		{"a choice by number", `{"type":"string","enum":["r","g"]}`, "2", `"g"`},
		{"several choices", `{"type":"array","items":{"enum":["r","g","b"]}}`, "1,b", `["r","b"]`},
		{"too many choices", `{"type":"array","maxItems":1,"items":{"enum":["r","g"]}}`, "1,2", "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			value, err := field(t, test.property).Parse(test.typed)
			if err != nil {
				value = []byte("error")
			}
			if string(value) != test.want {
				t.Errorf("got %s (%v), want %s", value, err, test.want)
			}
		})
	}
}

func TestFieldsAreReadThroughReferences(t *testing.T) {
	fields, err := Read([]byte(`{"allOf":[{"properties":{"a":{"$ref":"#/$defs/colour","title":"Colour"}},"required":["a"]}],"$defs":{"colour":{"type":"string","enum":["r","g"],"title":"C"}}}`))
	if err != nil || len(fields) != 1 || fields[0].Title != "Colour" || !fields[0].Required || len(fields[0].Choices) != 2 {
		t.Fatalf("%+v, %v", fields, err)
	}
	if value, err := fields[0].Parse("g"); string(value) != `"g"` || err != nil {
		t.Errorf("%s, %v", value, err)
	}
	if fields[0].Check([]byte(`"b"`)) == nil {
		t.Error("another colour fits")
	}
}

func TestAMemberCannotPretendToBeAnother(t *testing.T) {
	f := field(t, `{"type":"string","Name":"b","Required":false,"name":"b","Choices":[{}]}`)
	if f.Name != "a" || !f.Required || f.Choices != nil {
		t.Errorf("%+v", f)
	}
}

func TestFormsThatCannotBeAsked(t *testing.T) {
	for name, schema := range map[string]string{
		"no object":              `7`,
		"a list without choices": `{"properties":{"a":{"type":"array"}}}`,
		"a field of no schema":   `{"properties":{"a":{"type":7}}}`,
		"too many fields":        `{"properties":{` + strings.TrimSuffix(strings.Repeat(`"a":{},`, maxFields+1), ",") + `}}`,
	} {
		if _, err := Read([]byte(schema)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if fields, err := Read(nil); fields != nil || err != nil {
		t.Errorf("no schema: %v, %v", fields, err)
	}
}

func TestDoubts(t *testing.T) {
	for page, want := range map[string]int{
		"https://example.com/": 0, "http://localhost:8080/": 0, "http://example.com/": 1,
		"https://bank.example@evil.example/": 1, "https://xn--80ak6aa92e.com/": 1, "https://аpple.com/": 1,
	} {
		u, err := url.Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		if got := Doubts(u); len(got) != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}
