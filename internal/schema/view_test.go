package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/threadtime"
)

// shown returns a view in one line: its types, choices, items and properties.
func shown(v View, depth int) string {
	text := strings.Join(v.Types(), "|")
	for _, choice := range v.Choices() {
		text += "=" + string(choice)
	}
	if d := v.Text("description"); d != "" {
		text += "'" + d + "'"
	}
	if items := v.Items(); items.Raw() != nil && depth > 0 {
		text += "[" + shown(items, depth-1) + "]"
	}
	var properties []string
	for p := range v.With("properties").Properties() {
		name := p.Name
		if p.Required {
			name += "!"
		}
		if depth > 0 {
			name += ":" + shown(p.View, depth-1)
		}
		properties = append(properties, name)
	}
	if properties != nil {
		text += "{" + strings.Join(properties, " ") + "}"
	}
	return text
}

func TestViewReadsThroughReferencesAndCombinations(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"nothing", ``, ""},
		{"true", `true`, ""},
		{"no schema", `[1]`, ""},
		{"space around", " {\"type\":\"string\"}\n", "string"},
		{"properties in their order", `{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":["string","null"]}},"required":["a",7,"x"]}`, "object{b:integer a!:string|null}"},
		{"properties say that it is an object", `{"properties":{"a":{}}}`, "object{a:}"},
		{"required that is no list", `{"properties":{"a":{}},"required":"a"}`, "object{a:}"},
		{"choices", `{"enum":["a",1,null]}`, `string|number|null="a"=1=null`},
		{"const", `{"const":[1]}`, `array=[1]`},
		{"a type counts more than choices", `{"type":"string","enum":["a"]}`, `string="a"`},
		{"alternatives", `{"anyOf":[{"type":"string"},{"oneOf":[{"type":"null"},{"type":"array","items":{"type":"integer"}}]}]}`, "string|null|array[integer]"},
		{"the object among alternatives", `{"oneOf":[{"type":"null"},{"properties":{"a":{"type":"string"}},"required":["a"]}]}`, "null|object{a!:string}"},
		{"a definition", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string","description":"x"}}}`, "string'x'"},
		{"the part before what it refers to", `{"$ref":"#/$defs/a","description":"y","$defs":{"a":{"type":"string","description":"x"}}}`, "string'y'"},
		{"one reference after the other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}}}`, "string"},
		{"properties of both", `{"$ref":"#/$defs/a","properties":{"x":{"type":"string"}},"required":["y"],"$defs":{"a":{"properties":{"x":{"type":"null"},"y":{"type":"integer"}},"required":["x"]}}}`, "object{x!:string y!:integer}"},
		{"all of them", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"allOf":[{"properties":{"b":{}},"required":["a"]}]},{"$ref":"#/$defs/c"}],"$defs":{"c":{"properties":{"c":{}}}}}`, "object{a!:string b: c:}"},
		{"alternatives behind a reference", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, "string|null"},
		{"escapes in pointers", `{"$ref":"#/$defs/a~1b~0%20c","$defs":{"a/b~ c":{"type":"string"}}}`, "string"},
		{"an element of a list", `{"$ref":"#/anyOf/1","anyOf":[{"type":"null"},{"type":"string"}]}`, "string"},
		{"behind the list", `{"$ref":"#/allOf/7","allOf":[{"type":"null"}]}`, "null"},
		{"a property", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, "object{a:string b:string}"},
		{"a member without a name", `{"$ref":"#/$defs/","$defs":{"":{"type":"string"}}}`, "string"},
		{"an anchor", `{"$ref":"#text","$defs":{"a":{"items":{"$anchor":"text","type":"string"}}}}`, "string"},
		{"an anchor in a value", `{"$ref":"#text","default":{"$anchor":"text","type":"string"}}`, ""},
		{"the whole by its name", `{"$id":"https://a.example/s","$ref":"https://a.example/s#/$defs/a","$defs":{"a":{"type":"string"}}}`, "string"},
		{"elsewhere", `{"$ref":"https://a.example/s#/$defs/a","$defs":{"a":{"type":"string"}}}`, ""},
		{"nowhere", `{"$ref":"#/$defs/b","$defs":{"a":{"type":"string"}}}`, ""},
		{"no reference", `{"$ref":7,"type":"string"}`, "string"},
		{"a reference to itself", `{"$ref":"#","type":"string"}`, "string"},
		{"references in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a","type":"string"}}}`, "string"},
		{"a tree", `{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}}}}}`, "object{v:integer next:object{v:integer next:object{v next}}}"},
		{"numbers that are booleans", `{"type":"integer","exclusiveMinimum":true,"minimum":"1"}`, "integer"},
		{"keywords of other types", `{"type":7,"enum":{},"properties":[],"required":{},"allOf":{},"anyOf":7,"$defs":[]}`, ""},
	} {
		if got := shown(Look([]byte(test.schema)), 2); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestViewMergesAndStandsAlone(t *testing.T) {
	v := Look([]byte(`{"$schema":"s","properties":{"a":{"$ref":"#/$defs/e","title":"A"}},"$defs":{"e":{"enum":["x"],"title":"E"}}}`))
	for p := range v.Properties() {
		if got, want := string(p.Merged()), `{"title":"A","enum":["x"]}`; got != want {
			t.Errorf("merged: %s, want %s", got, want)
		}
		if got, want := string(p.Alone("title")), `{"$schema":"s","$defs":{"e":{"enum":["x"],"title":"E"}},"$ref":"#/$defs/e"}`; got != want {
			t.Errorf("alone: %s, want %s", got, want)
		}
	}
}

func TestViewOfAHostileSchemaIsBounded(t *testing.T) {
	many := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ",")
	}
	for name, schema := range map[string]string{
		"alternatives of itself":  `{"anyOf":[` + many(2_000, `{"$ref":"#","$comment":"%d"}`) + `]}`,
		"all of itself":           `{"allOf":[` + many(2_000, `{"$ref":"#","$comment":"%d"}`) + `]}`,
		"doubling":                `{"$ref":"#/$defs/d0","$defs":{` + many(40, `"d%[1]d":{"anyOf":[{"$ref":"#/$defs/d%[1]d"},{"$ref":"#/$defs/d0"}]}`) + `}}`,
		"many properties":         `{"properties":{` + many(3_000, `"p%d":{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{"anyOf":[` + many(3_000, `{"$comment":"%d"}`) + `]}}}`,
		"spellings of a place":    `{"properties":{` + many(3_000, `"p%d":{"$ref":"#/%%24d%%65fs/a%[1]d"}`) + `},"$defs":{` + many(3_000, `"a%d":{}`) + `}}`,
		"a huge enum":             `{"enum":[` + many(5_000, `%d`) + `]}`,
		"deep":                    strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100),
		"alternatives in a chain": strings.Repeat(`{"anyOf":[{"$ref":"#"},`, 60) + `{}` + strings.Repeat(`]}`, 60),
	} {
		spent := threadtime.Of(func() { shown(Look([]byte(schema)), 1) })
		if spent > 10*time.Second {
			t.Errorf("%s took %v", name, spent)
		}
	}
}

func FuzzView(f *testing.F) {
	for _, schema := range []string{
		`{"$ref":"#","allOf":[{"$ref":"#/allOf/0"}],"anyOf":[{"$ref":"#/properties/a"}],"properties":{"a":{"$ref":"#a"}},"required":["a"]}`,
		`{"$id":"s","$defs":{"a":{"$anchor":"a","items":[{"const":1}],"enum":[true]}},"$ref":"s#a"}`,
		`{"type":["integer",7],"exclusiveMinimum":true,"not":{"if":false},"items":{"$ref":"#/%24defs/~01"}}`,
	} {
		f.Add([]byte(schema))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if len(schema) > 1<<12 || jsonrpc.Valid(schema, jsonrpc.Limits{}) != nil {
			return
		}
		v := Look(schema)
		shown(v, 2)
		var look func(View, int)
		look = func(v View, depth int) {
			names := map[string]bool{}
			for p := range v.Properties() {
				if names[p.Name] {
					t.Errorf("property %q twice", p.Name)
				}
				names[p.Name] = true
			}
			if jsonrpc.Valid(v.Merged(), jsonrpc.Limits{}) != nil || jsonrpc.Valid(v.Alone(), jsonrpc.Limits{}) != nil && kindAt(v.Raw(), 0) == kindObject {
				t.Errorf("%s: merged %s, alone %s", v.Raw(), v.Merged(), v.Alone())
			}
			if types := v.Types(); len(slices.Compact(slices.Sorted(slices.Values(types)))) != len(types) {
				t.Errorf("types %q", types)
			}
			v.Within(func(_, _ string, inner View) {
				if depth < 6 {
					look(inner, depth+1)
				}
			})
		}
		look(v, 0)
	})
}
