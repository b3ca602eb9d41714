package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func sample() Definition {
	return Definition{Kind: Tool, Server: "calc", Name: "add", Title: "Add", Description: "Adds numbers.", Text: "x",
		Schema:       json.RawMessage(`{"type":"object","properties":{"a":{"type":"number","default":1.50},"b":{"enum":["x","y"]}}}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`), Annotations: json.RawMessage(`{"readOnlyHint":true}`), Icons: json.RawMessage(`[{"src":"https://example.com/a.png"}]`)}
}

func TestHashIgnoresHowJSONIsWritten(t *testing.T) {
	want := sample().Hash()
	for _, schema := range []string{
		` { "properties" : {"b":{"enum":["x","y"]}, "a":{"default":1.5,"type":"number"}} , "type":"object"}` + "\n",
		`{"type":"object","properties":{"a":{"type":"number","default":15e-1},"b":{"enum":["x","\u0079"]}}}`,
		`{"type":"object","properties":{"a":{"type":"number","default":0.15E+1},"b":{"enum":["x","y"]}}}`,
	} {
		d := sample()
		d.Schema = json.RawMessage(schema)
		if got := d.Hash(); got != want {
			t.Errorf("%s: hash %s, want %s", schema, got, want)
		}
	}
}

func TestHashSeesEveryChange(t *testing.T) {
	changes := map[string]func(*Definition){
		"kind":                      func(d *Definition) { d.Kind = Prompt },
		"server":                    func(d *Definition) { d.Server += "2" },
		"name":                      func(d *Definition) { d.Name += "2" },
		"title":                     func(d *Definition) { d.Title = "" },
		"description":               func(d *Definition) { d.Description += " " },
		"an invisible character":    func(d *Definition) { d.Description += "\u200b" },
		"text":                      func(d *Definition) { d.Text = "y" },
		"text moved to a neighbour": func(d *Definition) { d.Title, d.Description = d.Title+"A", "dds numbers." },
		"schema":                    func(d *Definition) { d.Schema = bytes.Replace(d.Schema, []byte("1.50"), []byte("1.51"), 1) },
		"order of an enumeration":   func(d *Definition) { d.Schema = bytes.Replace(d.Schema, []byte(`"x","y"`), []byte(`"y","x"`), 1) },
		"no schema":                 func(d *Definition) { d.Schema = nil },
		"null for a schema":         func(d *Definition) { d.Schema = json.RawMessage("null") },
		"broken schema":             func(d *Definition) { d.Schema = d.Schema[1:] },
		"output schema":             func(d *Definition) { d.OutputSchema = json.RawMessage(`{"type":"array"}`) },
		"annotations":               func(d *Definition) { d.Annotations = json.RawMessage(`{"readOnlyHint":false}`) },
		"icons":                     func(d *Definition) { d.Icons = json.RawMessage(`[{"src":"https://example.com/b.png"}]`) },
		"annotations as icons":      func(d *Definition) { d.Icons, d.Annotations = d.Annotations, d.Icons },
	}
	hashes := map[string]string{sample().Hash(): "nothing"}
	for name, change := range changes {
		d := sample()
		change(&d)
		hash := d.Hash()
		if other, seen := hashes[hash]; seen {
			t.Errorf("a change of %s has the hash of a change of %s", name, other)
		}
		hashes[hash] = name
	}
}

func TestHashDistinguishesLargeNumbersAndNormalForms(t *testing.T) {
	for _, pair := range [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`1e999999999999`, `1e999999999998`},
		{`0.1`, `0.10000000000000000001`},
		{`-1`, `1`},
		{"\"\u00e9\"", "\"e\u0301\""},
		{`"1"`, `1`},
	} {
		a, b := Definition{Schema: json.RawMessage(pair[0])}, Definition{Schema: json.RawMessage(pair[1])}
		if a.Hash() == b.Hash() {
			t.Errorf("%s and %s have the same hash", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{`100`, `1e2`}, {`0`, `-0.0e5`}, {`1.0`, `1`}, {`12e-1`, `1.2`}, {`120`, `12e1`}} {
		a, b := Definition{Schema: json.RawMessage(pair[0])}, Definition{Schema: json.RawMessage(pair[1])}
		if a.Hash() != b.Hash() {
			t.Errorf("%s and %s have different hashes", pair[0], pair[1])
		}
	}
}

// randomValue returns a JSON value as a Go value, with members in random order.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(7); {
	case n == 0 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case n <= 2 && depth > 0:
		object := map[string]any{}
		for range r.IntN(5) {
			object[fmt.Sprintf("k%d\u00e4\"", r.IntN(20))] = randomValue(r, depth-1)
		}
		return object
	case n == 3:
		return r.Int64()
	case n == 4:
		return r.NormFloat64()
	case n == 5:
		return r.IntN(2) == 0
	}
	return fmt.Sprintf("text %d <&>", r.IntN(1000))
}

// write encodes a value with shuffled members and white space.
func write(r *rand.Rand, v any) []byte {
	space := []string{"", " ", "\n\t"}[r.IntN(3)]
	var out []byte
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			if i > 0 {
				out = append(out, ","+space...)
			}
			out = append(out, write(r, element)...)
		}
		return append(append([]byte("["+space), out...), space+"]"...)
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			if i > 0 {
				out = append(out, space+","...)
			}
			quoted, _ := json.Marshal(name)
			out = append(append(append(out, quoted...), space+":"+space...), write(r, v[name])...)
		}
		return append(append([]byte("{"+space), out...), space+"}"...)
	}
	quoted, _ := json.Marshal(v)
	return quoted
}

func TestHashOfRandomJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		value := map[string]any{"root": randomValue(r, 5)}
		first, second := Definition{Schema: write(r, value)}, Definition{Schema: write(r, value)}
		if first.Hash() != second.Hash() {
			t.Fatalf("the same value, two hashes:\n%s\n%s", first.Schema, second.Schema)
		}
		changed := slices.Clone(first.Schema)
		at := bytes.IndexByte(changed, 'r')
		changed[at] = 's'
		if (Definition{Schema: changed}).Hash() == first.Hash() {
			t.Fatalf("a changed value, the same hash:\n%s", first.Schema)
		}
	}
}

func FuzzHash(f *testing.F) {
	f.Add([]byte(`{"b":1.0,"a":[null,true,"\u0041",{}],"c":-0e1}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Add([]byte(`[1e5,10E4,100000]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once := canonical(raw)
		if len(once) == 0 || once[0] == 0 {
			return
		}
		if twice := canonical(once); !bytes.Equal(once, twice) {
			t.Errorf("canonical form of %q is %q, and of that %q", raw, once, twice)
		}
	})
}

func TestCounted(t *testing.T) {
	for _, test := range []struct {
		kinds []Kind
		want  string
	}{
		{nil, ""},
		{[]Kind{Version, Tool, Command, Prompt, Tool}, "2 tools, 1 prompt, command, version"},
		{[]Kind{View, Skill, Template, Resource, Resource, Instructions}, "2 resources, 1 template, 1 skill, 1 view, instructions"},
	} {
		var list []Definition
		for _, k := range test.kinds {
			list = append(list, Definition{Kind: k})
		}
		if got := Counted(list); got != test.want {
			t.Errorf("%q: got %q, want %q", test.kinds, got, test.want)
		}
	}
}
