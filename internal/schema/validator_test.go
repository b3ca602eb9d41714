package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

type forecastIn struct {
	City  string   `json:"city" min:"1"`
	Days  int      `json:"days,omitempty" min:"1" max:"14"`
	Color string   `json:"color,omitempty" enum:"red,green"`
	Items []item   `json:"items,omitempty" max:"2"`
	Code  string   `json:"code,omitempty" pattern:"^[A-Z]{2}$"`
	Note  *string  `json:"note,omitempty" max:"5"`
	Share *float64 `json:"share,omitempty" min:"0" max:"1"`
}

type item struct {
	Name string `json:"name"`
}

func validatorFor[T any](tb testing.TB) *Validator {
	tb.Helper()
	text, err := For(reflect.TypeFor[T](), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	v, err := Compile(text)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestErrorsTellHowToMendTheCall(t *testing.T) {
	v := validatorFor[forecastIn](t)
	for _, c := range []struct{ value, want string }{
		{`{"city":"Oslo"}`, ""},
		{` { "days" : 1.0 , "city" : "Oslo", "note":null, "share":1e0 } `, ""},
		{`{"days":20,"colour":"red"}`, `days: expected integer between 1 and 14, got 20; colour: unknown member, did you mean "color"?; city: required, missing`},
		{`{"city":""}`, `city: expected string of at least 1 character, got ""`},
		{`{"city":7}`, `city: expected string of at least 1 character, got 7`},
		{`{"city":"O","days":1.5}`, `days: expected integer between 1 and 14, got 1.5`},
		{`{"city":"O","days":"3"}`, `days: expected integer between 1 and 14, got "3"`},
		{`{"city":"O","color":"blue"}`, `color: expected one of "red", "green", got "blue"`},
		{`{"city":"O","code":"no"}`, `code: expected string that matches ^[A-Z]{2}$, got "no"`},
		{`{"city":"O","note":"too long"}`, `note: expected string of at most 5 characters or null, got "too long"`},
		{`{"city":"O","share":-0.1}`, `share: expected number between 0 and 1 or null, got -0.1`},
		{`{"city":"O","items":[{"name":"a"},{"name":1},{}]}`, `items[1].name: expected string, got 1; items[2].name: required, missing; items: expected array of at most 2 items, got an array of 3 items`},
		{`{"city":"O","q":1}`, `q: unknown member, expected one of city, days, color, items, code, note, share`},
		{`{"city":"O","Days":1}`, `Days: unknown member, did you mean "days"?`},
		{`{"city":"O","city":"P"}`, `city: expected each member once, got it twice`},
		{`{"city":"O","a b":1}`, `["a b"]: unknown member, expected one of city, days, color, items, code, note, share`},
		{`[1]`, `expected object, got an array of 1 item`},
		{`null`, `expected object, got null`},
		{`{"city":"O","days":1e999999}`, `days: expected a number within the range of float64, got 1e999999`},
		{`{"city":"` + strings.Repeat("é", 100) + `","code":"` + strings.Repeat("é", 100) + `"}`,
			`code: expected string that matches ^[A-Z]{2}$, got "` + strings.Repeat("é", 29) + "…"},
	} {
		if got := text(v.Validate([]byte(c.value))); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.value, got, c.want)
		}
	}
}

func TestErrorsListAtMostEightViolations(t *testing.T) {
	v := validatorFor[[]int](t)
	err := v.Validate([]byte(`[` + strings.Repeat(`"x",`, 20) + `1]`))
	var list *Error
	if !errors.As(err, &list) || len(list.Violations) != 8 {
		t.Fatalf("%v", err)
	}
	if want := (Violation{Path: "[7]", Expected: "integer", Got: `"x"`}); list.Violations[7] != want {
		t.Fatalf("%+v", list.Violations[7])
	}
}

func TestAlternativesPointAtTheOneThatWasMeant(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"}}},{"type":"null"}]}`, `{"a":"x"}`, `a: expected integer, got "x"`},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"integer"}]}`, `true`, `expected a value that fits anyOf of its schema, got true`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, `expected a value that fits oneOf of its schema, got 3`},
		{`{"not":{"type":"null"}}`, `null`, `expected a value that fits not of its schema, got null`},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"exclusiveMinimum":0,"type":"number"}}}`, `0`, `expected number greater than 0, got 0`},
		{`{"type":"object","maxProperties":1}`, `{"a":1,"b":2}`, `expected object of at most 1 member, got an object`},
		{`{"const":{"a":[1]}}`, `{"a":[2]}`, `expected a value that fits const of its schema, got an object`},
		{`{"properties":{"a":{"type":"object","properties":{"b":{"oneOf":[true,true]}}}}}`, `{"a":{"b":1}}`, `a.b: expected a value that fits oneOf of its schema, got 1`},
		{`{"properties":{"a":{"anyOf":[{"type":"string","maxLength":1},{"type":"null"}]}}}`, `{"a":1}`, `a: expected string of at most 1 character or null, got 1`},
		{`{"properties":{"a":false}}`, `{"a":1}`, `a: expected no value here, got 1`},
		{`{"properties":{"a":{"multipleOf":5}},"required":["b"],"additionalProperties":false}`, `{"a":3,"c":1}`,
			`a: expected number that is a multiple of 5, got 3; c: unknown member, expected one of a; b: required, missing`},
		{`{"items":{"type":"array","uniqueItems":true}}`, `[[1,1.0]]`, `expected a value that fits items/uniqueItems of its schema, got an array of 1 item`},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"null"}}`, `[1,2]`, `expected a value that fits prefixItems/0/type of its schema, got an array of 2 items`},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a",1]`, `expected a value that fits minContains of its schema, got an array of 2 items`},
		{`{"contains":{"type":"string"},"minContains":0,"maxContains":0}`, `["a"]`, `expected a value that fits maxContains of its schema, got an array of 1 item`},
		{`{"patternProperties":{"^x":{"type":"null"}},"additionalProperties":false}`, `{"xa":1,"y":1}`, `expected a value that fits patternProperties/^x/type of its schema, got an object`},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `expected a value that fits propertyNames/maxLength of its schema, got an object`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `expected a value that fits dependentRequired["a"] of its schema, got an object`},
		{`{"dependentSchemas":{"a":{"properties":{"b":{"type":"null"}}}}}`, `{"a":1,"b":1}`, `expected a value that fits dependentSchemas/a/properties/b/type of its schema, got an object`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"d":1}`, `expected a value that fits else/required of its schema, got an object`},
		{`{"enum":[1,2],"const":1}`, `2`, `expected a value that fits const of its schema, got 2`},
		{`{"allOf":[{"properties":{"a":{"type":"null"}}}],"unevaluatedProperties":false}`, `{"a":1}`, `expected a value that fits allOf/0/properties/a/type of its schema, got an object`},
		{`{"allOf":[{"properties":{"a":{"type":"null"}}}],"unevaluatedProperties":false}`, `{"b":1}`, `expected a value that fits unevaluatedProperties of its schema, got an object`},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got := text(v.Validate([]byte(c.value))); got != c.want {
			t.Errorf("%s of %s\n got %s\nwant %s", c.value, c.schema, got, c.want)
		}
	}
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 70) + `{}` + strings.Repeat(`}`, 70)
	var chain []string
	for i := range 70 {
		chain = append(chain, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	for _, c := range []struct{ schema, want string }{
		{`{`, "schema is not valid JSON"},
		{`{"type":"string","type":"null"}`, "duplicate"},
		{`{"$ref":"https://example.com/s.json"}`, `$ref to "https://example.com/s.json": junction never fetches schemas`},
		{`{"$ref":"file:///etc/passwd"}`, `$ref to "file:///etc/passwd": junction never fetches schemas`},
		{`{"$ref":"other.json"}`, "junction never fetches schemas"},
		{`{"$ref":"#/$defs/x"}`, `$ref to "#/$defs/x", which it does not define`},
		{`{"properties":{"a":{"$ref":"#/$defs/x~1y"}}}`, `$ref to "#/$defs/x~1y", which it does not define`},
		{`{"$ref":"#nowhere"}`, `$ref to "#nowhere", which it does not define`},
		{`{"$ref":"#"}`, "leads back to itself"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{}]}}}`, "leads back to itself"},
		{`{"$anchor":"a","anyOf":[{"$ref":"#a"}]}`, "leads back to itself"},
		{`{"$id":"https://example.com/a","allOf":[{"$ref":"a"}]}`, "leads back to itself"},
		{`{"$dynamicAnchor":"a","anyOf":[{"$dynamicRef":"#a"}]}`, "leads back to itself"},
		{`{"$dynamicAnchor":"a","anyOf":[{"$dynamicRef":"b#%61"}],"$defs":{"b":{"$id":"b","$dynamicAnchor":"a"}}}`, "leads back to itself"},
		{`{"$ref":"/b","$defs":{"b":{"$id":"/b","$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}},"c":{"$dynamicAnchor":"a","$ref":"/b"}}}`, "leads back to itself"},
		{`{"if":{"$ref":"#"}}`, "leads back to itself"},
		{`{"dependentSchemas":{"a":{"$ref":"#"}}}`, "leads back to itself"},
		{`{"allOf":[{"$anchor":"a"},{"$anchor":"a"}]}`, `two parts called "#a"`},
		{`{"$ref":"#/$defs/d0","$defs":{` + strings.Join(chain, ",") + `,"d70":{}}}`, "chain of more than 64"},
		{deep, "nested deeper than the limit of 64"},
		{`{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "larger than the limit of 1048576"},
		{`{"$schema":"https://json-schema.org/draft/1999/schema"}`, `dialect "https://json-schema.org/draft/1999/schema" is not supported: use https://json-schema.org/draft/2020-12/schema`},
		{`{"type":"strin"}`, "schema is not a valid JSON Schema: type: expected"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`, "dialect 2019-09 is supported without $recursiveRef"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","unevaluatedItems":false}`, "dialect 2019-09 is supported without $recursiveRef, unevaluatedItems"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, "part in another dialect"},
		{`{"properties":{"a":{"items":[{"enum":1}]}}}`, "schema is not a valid JSON Schema: properties.enum: a value of the type number cannot stand here"},
		{`{"multipleOf":0}`, "schema is not a valid JSON Schema: multipleOf: expected a number greater than 0, got 0"},
		{`{"anyOf":[]}`, "schema is not a valid JSON Schema: allOf, anyOf or oneOf: expected an array of at least 1 item"},
		{`{"properties":[]}`, "schema is not a valid JSON Schema: properties: a value of the type array cannot stand here"},
		{`{"minLength":-1}`, "schema is not a valid JSON Schema: a length or count: expected a number of at least 0, got -1"},
		{`7`, "schema"},
		{`{"allOf":[{"items":[{}]}]}`, "schema is not a valid JSON Schema: items: expected object or boolean, got an array"},
		{`{"allOf":[{"Type":"string"}]}`, "schema is not a valid JSON Schema: Type: the keyword is spelled type"},
		{`{"allOf":[{"type":"strin"}]}`, "schema is not a valid JSON Schema: type: expected one of string, "},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, "exclusiveMinimum: a value of the type bool cannot stand here"},
		{`{"$id":"https://example.com/a","allOf":[{"$id":"b"},{"$id":"b"}]}`, `two parts called "https://example.com/b"`},
		{`{"type":"object","allOf":[` + strings.Repeat("true,", maxSubschemas) + `true]}`, "more than the limit of 16384 schemas"},
		{`{"allOf":[{}],"description":"` + strings.Repeat("x", maxLibraryBytes) + `"}`, "larger than the limit of 262144 and 4096"},
		{`{"allOf":[` + strings.Repeat("{},", maxLibrarySchemas) + `true]}`, "with 4098 schemas within is larger than"},
		{`{"not":{},"properties":{"` + strings.Repeat("x", 3000) + `":{}}}`, "a path or $id longer than the limit of 2048 bytes"},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "leads back to itself"},
		{`{"anyOf":[{"$ref":"#"},{"type":"null"}]}`, "leads back to itself"},
	} {
		_, err := Compile(json.RawMessage(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v\nwant %s", c.schema, err, c.want)
		}
	}
}

func TestEveryDialectIsReadByItsOwnRules(t *testing.T) {
	for _, c := range []struct {
		schema, good, bad string
		fast              bool
	}{
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"integer"}`, `1.0`, `1.5`, true},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"object","required":["x"]}}}`, `{"x":1}`, `{}`, true},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`, false},
		{`{"$schema":"http://json-schema.org/draft-06/schema","exclusiveMinimum":1}`, `2`, `1`, true},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1}`, `2`, `0`, true},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"https://example.com/a","$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}}`, `null`, `1`, true},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"maxProperties":1}}}`, `{"a":1,"b":2}`, `{"c":1,"d":1}`, false},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$ref":"#/$defs/a","items":[true,{"type":"null"}],"additionalItems":false,"$defs":{"a":{"minItems":1}}}`, `[1,null]`, `[1,null,1]`, false},
		{`{"$id":"https://example.com/tree","$dynamicAnchor":"node","properties":{"a":{"$dynamicRef":"#node"}},"additionalProperties":false}`, `{"a":{}}`, `{"a":{"b":1}}`, false},
		{`{"$id":"https://example.com/a","$ref":"b","$defs":{"b":{"$id":"b","$ref":"#/$defs/c","$defs":{"c":{"type":"null"}}}}}`, `null`, `1`, false},
		{`{"properties":{"a":{"type":"null"},"b":{"$ref":"#/properties/a"}}}`, `{"b":null}`, `{"b":1}`, false},
		{`{"$ref":"#/$defs/x~1y%20z","$defs":{"x/y z":{"type":"null"}}}`, `null`, `1`, false},
		{`{"$defs":{"p":{"$anchor":"p","type":"integer"}},"$ref":"#p"}`, `1`, `"1"`, false},
		{`{"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"null"}}`, `"ab"`, `"a"`, false},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`, false},
		{`{"pattern":"^(?!x)"}`, `"x"`, ``, true},
		{`{"pattern":"(a{100}){10}{10}"}`, `"x"`, ``, true},
		{`{"pattern":"^\\u00e9$"}`, `"é"`, `"e"`, true},
		{`{"patternProperties":{"(?=x)":{"type":"null"}},"pattern":"(?=x)"}`, `"y"`, ``, false},
		{`{"patternProperties":{"(?=x)":{"type":"null"}},"additionalProperties":false}`, `{"y":1}`, ``, false},
		{`{"patternProperties":{"(?=x)":{"type":"null"}},"additionalProperties":false,"unevaluatedItems":false}`, `{"y":1}`, `[1]`, false},
		{`{"pattern":"^\\u00e9$","unevaluatedItems":false}`, `"é"`, `"e"`, false},
		{`{"format":"email"}`, `"no mail"`, ``, true},
		{`true`, `1`, ``, true},
		{`false`, ``, `1`, true},
		{`{"$id":"https://example.com/a","$ref":"#/$defs/b","$defs":{"b":{"type":"null"}}}`, `null`, `1`, false},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if (v.library == nil) != c.fast {
			t.Errorf("%s: fast is %v", c.schema, !c.fast)
		}
		if err := v.Validate([]byte(c.good)); c.good != "" && err != nil {
			t.Errorf("%s refuses %s: %v", c.schema, c.good, err)
		}
		if err := v.Validate([]byte(c.bad)); c.bad != "" && err == nil {
			t.Errorf("%s takes %s", c.schema, c.bad)
		}
	}
}

func TestSchemasWithManyMembersAreChecked(t *testing.T) {
	var properties, required, full []string
	for i := range 600 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
		required = append(required, fmt.Sprintf(`"p%d"`, i))
		full = append(full, fmt.Sprintf(`"p%d":%d`, i, i))
	}
	v, err := Compile(json.RawMessage(`{"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate([]byte(`{` + strings.Join(full, ",") + `}`)); err != nil {
		t.Error(err)
	}
	if got := text(v.Validate([]byte(`{` + strings.Join(full[:599], ",") + `}`))); got != "p599: required, missing" {
		t.Error(got)
	}
	if got := text(v.Validate([]byte(`{` + strings.Join(full, ",") + `,"p599":1}`))); got != "p599: expected each member once, got it twice" {
		t.Error(got)
	}
}

// The library uses float64, so it can judge only the last of these.
func TestNumbersAreComparedExactly(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`{"enum":[9007199254740993]}`, `9007199254740993.0`, `9007199254740992`},
		{`{"maximum":0.1}`, `0.10`, `0.1000000000000000000001`},
		{`{"multipleOf":0.01}`, `19.99`, `19.999`},
		{`{"multipleOf":3}`, `123456789012345678901234567890`, `123456789012345678901234567891`},
		{`{"multipleOf":1e-7}`, `0.0000003`, `0.00000035`},
		{`{"exclusiveMaximum":9007199254740993}`, `9007199254740992`, `9007199254740993.0`},
		{`{"exclusiveMinimum":0}`, `1e-300`, `0.0`},
		{`{"uniqueItems":true}`, `[9007199254740991,9007199254740990]`, `[100,1e2]`},
		{`{"uniqueItems":true}`, `[0.1,0.1000000000000001,-1,1]`, `[-0.0,0]`},
		{`{"uniqueItems":true}`, `[{"a":"1"},{"a":1},["a"],"a",null,false,0]`, `[{"a":1,"b":[2.0]},{"b":[2],"a":1.0}]`},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate([]byte(c.good)); err != nil {
			t.Errorf("%s refuses %s: %v", c.schema, c.good, err)
		}
		if v.Validate([]byte(c.bad)) == nil {
			t.Errorf("%s takes %s", c.schema, c.bad)
		}
	}
}

func TestInvalidJSONNeverPanics(t *testing.T) {
	v := validatorFor[forecastIn](t)
	slow, err := Compile(json.RawMessage(`{"oneOf":[{"properties":{"items":{"uniqueItems":true}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	whole := `{"city":"O\u00e9","items":[{"name":"a"}],"days":-1.5e3,"note":null}`
	for end := range len(whole) {
		for _, tail := range []string{"", `"`, `\`, "{", "[", ",", "}", "]", ":", "-"} {
			raw := []byte(whole[:end] + tail)
			_ = v.Validate(raw)
			_, _ = v.Complete(raw)
			_, _ = measure(raw)
			_ = slow.Validate(raw)
		}
	}
}

func TestDefaultsFillAbsentMembers(t *testing.T) {
	schema := `{"properties":{"days":{"default":3},"unit":{"type":"string","default":"c"},
		"at":{"properties":{"x":{"default":null}}},"list":{"items":{"$ref":"#/$defs/e"}},"next":{"$ref":"#"}},
		"$defs":{"e":{"properties":{"n":{"default":{"a":[1]}}}}}}`
	v, err := Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ value, want string }{
		{`{}`, `{"days":3,"unit":"c"}`},
		{` { } `, ` { "days":3,"unit":"c"} `},
		{`{"unit":"f"}`, `{"unit":"f","days":3}`},
		{`{"d\u0061ys":1,"unit":"f","at":{},"list":[{},{"n":1}, {"m":2}]}`, `{"d\u0061ys":1,"unit":"f","at":{"x":null},"list":[{"n":{"a":[1]}},{"n":1}, {"m":2,"n":{"a":[1]}}]}`},
		{`{"days":1,"unit":"f","next":{"next":{}}}`, `{"days":1,"unit":"f","next":{"next":{"days":3,"unit":"c"},"days":3,"unit":"c"}}`},
		{`{"days":null,"at":[1],"list":{},"unit":"c"}`, `{"days":null,"at":[1],"list":{},"unit":"c"}`},
		{`{"days":null,"unit":null,"at":[1],"list":{}}`, `{"days":null,"unit":"c","at":[1],"list":{}}`},
		{`[]`, `[]`}, {`1`, `1`},
	} {
		raw := []byte(c.value)
		got, _ := v.Complete(raw)
		if string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.value, got, c.want)
		}
		if c.value == c.want && &got[0] != &raw[0] {
			t.Errorf("%s was copied for nothing", c.value)
		}
		if string(raw) != c.value {
			t.Errorf("%s was changed in place to %s", c.value, raw)
		}
	}
}

func TestNullCountsAsAbsentWhereItMay(t *testing.T) {
	type place struct {
		Street string `json:"street,omitempty"`
		Number int    `json:"number"`
	}
	v := validatorFor[struct {
		City  string   `json:"city"`
		Days  int      `json:"days,omitempty" default:"3"`
		Tags  []string `json:"tags,omitempty"`
		Note  *string  `json:"note"`
		At    place    `json:"at,omitzero"`
		More  []place  `json:"more,omitempty"`
		Extra any      `json:"extra,omitempty"`
	}](t)
	for _, c := range []struct{ value, want, err string }{
		{`{"city":"O","tags":null,"days":2}`, `{"city":"O","days":2}`, ""},
		{`{"tags":null,"city":"O","days":2}`, `{"city":"O","days":2}`, ""},
		{`{"days":2,"city":"O" , "tags": null }`, `{"days":2,"city":"O" }`, ""},
		{`{"days":2,"city":"O","tags":null,"at":null,"more":null}`, `{"days":2,"city":"O"}`, ""},
		{`{"tags":null,"city":"O"}`, `{"city":"O","days":3}`, ""},
		{`{"city":"O","days":null}`, `{"city":"O","days":3}`, ""},
		{`{"city":"O","days":null,"note":null,"extra":null}`, `{"city":"O","days":3,"note":null,"extra":null}`, ""},
		{`{"city":"O","days":1,"at":{"street":null,"number":1},"more":[{"number":1,"street":null}]}`, `{"city":"O","days":1,"at":{"number":1},"more":[{"number":1}]}`, ""},
		{`{"city":null,"days":1}`, `{"city":null,"days":1}`, "city: expected string, got null"},
		{`{"city":"O","days":1,"at":{"number":null}}`, `{"city":"O","days":1,"at":{"number":null}}`, "at.number: expected integer, got null"},
		{`{"city":"O","days":1,"tags":[null]}`, `{"city":"O","days":1,"tags":[null]}`, "tags[0]: expected string, got null"},
		{`{"city":"O","days":1,"tags":null,"tags":["a"]}`, `{"city":"O","days":1,"tags":["a"]}`, "tags: expected each member once, got it twice"},
		{`{"city":"O","days":1,"tag":null}`, `{"city":"O","days":1,"tag":null}`, `tag: unknown member, did you mean "tags"?`},
	} {
		got, err := v.Complete([]byte(c.value))
		if string(got) != c.want || text(err) != c.err {
			t.Errorf("%s\n got %s, %v\nwant %s, %s", c.value, got, err, c.want, c.err)
		}
		if v.Validate([]byte(c.value)) == nil && c.value != c.want && !strings.Contains(c.want, "3") {
			t.Errorf("%s is valid as it is", c.value)
		}
	}
}

func TestDefaultsAreValidated(t *testing.T) {
	for _, c := range []struct{ schema, value, filled, want string }{
		{`{"properties":{"a":{"default":1}},"required":["a"],"minProperties":1}`, `{}`, `{"a":1}`, ``},
		{`{"properties":{"a":{"default":1}},"required":["a"],"allOf":[{"minProperties":1}]}`, `{}`, `{"a":1}`, ``},
		{`{"properties":{"a":{"default":1}},"maxProperties":1}`, `{"b":2}`, `{"b":2,"a":1}`, `expected object of at most 1 member, got an object`},
		{`{"properties":{"a":{"type":"string","default":5}}}`, `{}`, `{"a":5}`, `a: expected string, got 5`},
		{`{"properties":{"a":{"items":{"type":"null"},"default":[1]}},"required":["b"]}`, `{}`, `{"a":[1]}`, `a[0]: expected null, got 1; b: required, missing`},
		{`{"properties":{"a":{"properties":{"n":{"default":1}},"default":{}}}}`, `{}`, `{"a":{}}`, ``},
		{`{"properties":{"a":{"anyOf":[{"properties":{"n":{"default":1}}},{"type":"null"}]},"b":{"default":2}}}`, `{"a":{}}`, `{"a":{},"b":2}`, ``},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		filled, err := v.Complete([]byte(c.value))
		if string(filled) != c.filled || text(err) != c.want {
			t.Errorf("%s of %s is %s, %v\nwant %s, %s", c.value, c.schema, filled, err, c.filled, c.want)
		}
	}
}

func TestValidArgumentsCostNoAllocation(t *testing.T) {
	v := validatorFor[forecastIn](t)
	raw := []byte(`{"city":"Oslo","days":3,"color":"red","items":[{"name":"a"}],"code":"NO","share":0.5}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := v.Validate(raw); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzValidateAndComplete(f *testing.F) {
	f.Add([]byte(searchArguments))
	f.Add([]byte(`{"query":"\u00e9\ud83d","limit":1e400,"labels":[[]]}`))
	v := validatorFor[struct {
		searchIn
		Page int `json:"page" default:"1"`
	}](f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		filled, _ := v.Complete(raw)
		err := v.Validate(raw)
		if !jsontext.Value(raw).IsValid() {
			return
		}
		if !jsontext.Value(filled).IsValid() {
			t.Fatalf("%s became %s", raw, filled)
		}
		if again, _ := v.Complete(filled); string(again) != string(filled) {
			t.Fatalf("%s became %s", filled, again)
		}
		if err == nil && v.Validate(filled) != nil {
			t.Fatalf("%s is valid, %s is not", raw, filled)
		}
	})
}
