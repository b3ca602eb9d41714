package schema

import (
	"context"
	"maps"
	"reflect"
	"testing"
)

type (
	documentedIn struct {
		City string
		Sub  []documentedSub[int]
	}
	documentedSub[T any] struct{ V T }
	promoting            struct{ documentedIn }
	promotingNil         struct{ *promoting }
	station              struct{}
)

// MCPDocs has the form that cmd/mcpdoc generates.
func (*documentedIn) MCPDocs() map[string]string {
	return map[string]string{
		"documentedIn": "What is asked.", "documentedIn.City": "A city.",
		"func forecast": "Tells the weather.", "func generic": "Is generic.",
		"func station.Past": "Tells the past.", "func station.Value": "Has a value receiver.",
	}
}

func (*documentedSub[_]) MCPDocs() map[string]string {
	return map[string]string{"documentedSub.V": "A value."}
}

func forecast(context.Context, documentedIn)      {}
func generic[T any](T, documentedIn)              {}
func (*station) Past(documentedIn)                {}
func (station) Value(documentedIn)                {}
func undocumented(context.Context, *documentedIn) {}

func TestDocsAreFoundFromTheTypeDown(t *testing.T) {
	pkg := reflect.TypeFor[documentedIn]().PkgPath() + "."
	want := Docs{pkg + "documentedIn": "What is asked.", pkg + "documentedIn.City": "A city.", pkg + "documentedSub.V": "A value."}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[documentedIn](), reflect.TypeFor[*documentedIn](), reflect.TypeFor[map[string][]documentedIn](),
		reflect.TypeFor[promoting](), reflect.TypeFor[promotingNil](),
	} {
		if got := DocsOf(typ); !maps.Equal(got, want) {
			t.Errorf("DocsOf(%s) is %q", typ, got)
		}
	}
	if got := DocsOf(reflect.TypeFor[item]()); len(got) != 0 {
		t.Errorf("an undocumented type has %q", got)
	}
	schema, err := For(reflect.TypeFor[documentedIn](), Options{Docs: DocsOf(reflect.TypeFor[documentedIn]())})
	wanted := `{"type":"object","description":"What is asked.","properties":{"City":{"type":"string","description":"A city."},` +
		`"Sub":{"type":"array","items":{"type":"object","properties":{"V":{"type":"integer","description":"A value."}},` +
		`"required":["V"],"additionalProperties":false}}},"required":["City","Sub"],"additionalProperties":false}`
	if err != nil || string(schema) != wanted {
		t.Errorf("%v\n got %s\nwant %s", err, schema, wanted)
	}
}

func TestFunctionsAreFoundByTheTypeTheyTake(t *testing.T) {
	in := reflect.TypeFor[documentedIn]()
	for _, c := range []struct {
		name string
		fn   any
		in   reflect.Type
		want string
	}{
		{"function", forecast, in, "Tells the weather."},
		{"pointer to the type", forecast, reflect.PointerTo(in), "Tells the weather."},
		{"generic function", generic[int], in, "Is generic."},
		{"method of a pointer", (&station{}).Past, in, "Tells the past."},
		{"method of a value", station{}.Value, in, "Has a value receiver."},
		{"method expression", (*station).Past, in, "Tells the past."},
		{"no comment", undocumented, in, ""},
		{"closure", func(documentedIn) {}, in, ""},
		{"other type", forecast, reflect.TypeFor[item](), ""},
		{"other package", maps.Clone[map[string]int], in, ""},
		{"no function", 1, in, ""},
		{"nil function", (func())(nil), in, ""},
		{"no type", forecast, nil, ""},
	} {
		if got := FuncDoc(c.fn, c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
