package paramheader

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The first five are those of the specification (2026-07-28 basic/transports/streamable-http, Value
// Encoding).
func TestTextIsEncodedAsTheSpecificationSays(t *testing.T) {
	for _, test := range []struct{ text, value string }{
		{"us-west1", "us-west1"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"", ""},
		{"two words", "two words"},
		{"a\tb", "a\tb"},
		{"\ta", "=?base64?CWE=?="},
		{"\x00", "=?base64?AA==?="},
		{"\x7f", "=?base64?fw==?="},
		{"~!", "~!"},
		{"=?base64?", "=?base64?"},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?BASE64?YQ==?=", "=?BASE64?YQ==?="},
		{"a=?base64?YQ==?=", "a=?base64?YQ==?="},
	} {
		if got := Encode(test.text); got != test.value {
			t.Errorf("%q is encoded as %q, want %q", test.text, got, test.value)
		}
		if got, err := Decode(test.value); got != test.text || err != nil {
			t.Errorf("%q is decoded as %q, %v, want %q", test.value, got, err, test.text)
		}
	}
}

func TestHeaderValueThatStandsForNothingIsAnError(t *testing.T) {
	for value, want := range map[string]string{
		"=?base64?YQ=?=":    "not base64",
		"=?base64?YR==?=":   "not base64", // bits left over
		"=?base64?Y Q==?=":  "not base64",
		"=?base64?-_==?=":   "not base64", // the other alphabet
		"=?base64?/w==?=":   "not UTF-8",
		"世界":                "must be base64-encoded",
		"a\x00b":            "must be base64-encoded",
		"=?base64?YQ\n==?=": "must be base64-encoded",
		"a\nb":              "must be base64-encoded",
		"a\x7f":             "must be base64-encoded",
	} {
		if got, err := Decode(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is decoded as %q, %v; want %s", value, got, err, want)
		}
	}
	if got, err := Decode(" \ta "); got != "a" || err != nil {
		t.Errorf("white space around a value belongs to it: %q, %v", got, err)
	}
}

func TestAnnotatedArgumentsAreFound(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 40) + `{"type":"string","x-mcp-header":"A"}` + strings.Repeat(`}}`, 40)
	for _, test := range []struct {
		name, schema string
		want         []Field
		err          string
	}{
		{"no annotation", `{"properties":{"a":{"type":"string"}}}`, nil, ""},
		{"one", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
			[]Field{{[]string{"region"}, "Mcp-Param-Region", "string"}}, ""},
		{"all types", `{"properties":{"s":{"type":"string","x-mcp-header":"s"},"i":{"type":"integer","x-mcp-header":"i"},"b":{"type":"boolean","x-mcp-header":"b"}}}`,
			[]Field{{[]string{"s"}, "Mcp-Param-S", "string"}, {[]string{"i"}, "Mcp-Param-I", "integer"}, {[]string{"b"}, "Mcp-Param-B", "boolean"}}, ""},
		{"nested", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"tenant-ID"}}}}}`,
			[]Field{{[]string{"a", "b"}, "Mcp-Param-Tenant-Id", "string"}}, ""},
		{"an argument of that name", `{"properties":{"x-mcp-header":{"type":"string"}},"dependentRequired":{"x-mcp-header":["a"]}}`, nil, ""},
		{"in a default", `{"properties":{"a":{"type":"object","default":{"x-mcp-header":"A"}}}}`, nil, ""},
		{"a name written with escapes", `{"properties":{"a":{"type":"string","\u0078-mcp-header":"A"}}}`,
			[]Field{{[]string{"a"}, "Mcp-Param-A", "string"}}, ""},

		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, nil, "expected a header token"},
		{"a space", `{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, nil, "expected a header token"},
		{"a colon", `{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}`, nil, "expected a header token"},
		{"a line break", `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nSet-Cookie: x"}}}`, nil, "expected a header token"},
		{"not ASCII", `{"properties":{"a":{"type":"string","x-mcp-header":"ä"}}}`, nil, "expected a header token"},
		{"no string", `{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, nil, "expected a header token"},
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, nil, `"a" occurs at both "a" and "b"`},
		{"twice, once for an argument without a name", `{"properties":{"":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, nil, `"a" occurs at both "" and "b"`},
		{"a number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, nil, `only string, integer and boolean can be sent in a header, not "number"`},
		{"an object", `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, nil, "only string, integer and boolean"},
		{"several types", `{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, nil, "only string, integer and boolean"},
		{"no type", `{"properties":{"a":{"x-mcp-header":"A"}}}`, nil, "only string, integer and boolean"},
		{"at the root", `{"type":"string","x-mcp-header":"A"}`, nil, "is not allowed here"},
		{"in items", `{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, nil, "is not allowed here"},
		{"in properties of items", `{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, nil, "is not allowed here"},
		{"in oneOf", `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, nil, "is not allowed here"},
		{"in not", `{"not":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, nil, "is not allowed here"},
		{"in then", `{"if":true,"then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, nil, "is not allowed here"},
		{"in $defs", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string","x-mcp-header":"A"}}}`, nil, "is not allowed here"},
		{"in patternProperties", `{"patternProperties":{".":{"type":"string","x-mcp-header":"A"}}}`, nil, "is not allowed here"},
		{"too deep", deep, nil, "nested deeper than 32"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Fields(json.RawMessage(test.schema))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestArgumentsAndHeadersAreCompared(t *testing.T) {
	fields, err := Fields(json.RawMessage(`{"properties":{
		"s":{"type":"string","x-mcp-header":"S"},
		"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	type headers = map[string][]string
	one := func(name, value string) headers { return headers{"Mcp-Param-" + name: {value}} }
	for _, test := range []struct {
		name, arguments string
		headers         headers
		err             string // "" if they agree
	}{
		{"nothing", `{}`, nil, ""},
		{"no arguments at all", ``, nil, ""},
		{"null is as good as absent", `{"s":null,"o":{"n":null}}`, nil, ""},
		{"null with a header", `{"s":null}`, one("S", "null"), "header Mcp-Param-S is there, but the argument s is not"},
		{"absent with a header", `{}`, one("N", "1"), "header Mcp-Param-N is there, but the argument o.n is not"},
		{"plain text", `{"s":"us"}`, one("S", "us"), ""},
		{"base64 of plain text", `{"s":"us"}`, one("S", "=?base64?dXM=?="), ""},
		{"encoded text", `{"s":"世\n"}`, one("S", "=?base64?5LiWCg==?="), ""},
		{"empty text", `{"s":""}`, one("S", ""), ""},
		{"an escaped name", `{"\u0073":"us"}`, one("S", "us"), ""},
		{"other text", `{"s":"us"}`, one("S", "eu"), "header Mcp-Param-S differs from the argument s"},
		{"text in another case", `{"s":"us"}`, one("S", "US"), "differs"},
		{"no header", `{"s":"us"}`, nil, "header Mcp-Param-S is missing; it must repeat the argument s"},
		{"two headers", `{"s":"us"}`, headers{"Mcp-Param-S": {"us", "us"}}, "occurs 2 times"},
		{"a header that cannot be read", `{"s":"us"}`, one("S", "=?base64?!?="), "not base64"},
		{"an unknown header", `{}`, one("X", "1"), ""},
		{"an integer", `{"o":{"n":-7}}`, one("N", "-7"), ""},
		{"an integer written otherwise", `{"o":{"n":42}}`, one("N", "42.0"), ""},
		{"an integer with an exponent", `{"o":{"n":4.2e1}}`, one("N", "42"), ""},
		{"the largest integer", `{"o":{"n":9007199254740991}}`, one("N", "9007199254740991"), ""},
		{"an integer that is too large", `{"o":{"n":9007199254740992}}`, one("N", "9007199254740992"), "at most 53 bits"},
		{"no integer", `{"o":{"n":1.5}}`, one("N", "1.5"), "expected an integer"},
		{"another integer", `{"o":{"n":1}}`, one("N", "2"), "differs"},
		{"an integer that is text in the header", `{"o":{"n":1}}`, one("N", "one"), "differs"},
		{"a boolean", `{"o":{"b":true}}`, one("B", "true"), ""},
		{"a boolean in another case", `{"o":{"b":true}}`, one("B", "True"), "differs"},
		{"a number where text belongs", `{"s":1.5}`, one("S", "1.5"), ""},
		{"an object where text belongs", `{"s":{}}`, nil, "s: expected string, got {}"},
		{"text where an object belongs", `{"o":"x"}`, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Check(fields, json.RawMessage(test.arguments), test.headers)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}
