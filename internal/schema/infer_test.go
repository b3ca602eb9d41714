//lint:file-ignore SA5008,U1000 the types here are wrong on purpose, or never filled

package schema

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type (
	embedded struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	withEmbedded struct {
		embedded
		Name  string         `json:"name"`
		Extra map[string]int `json:",embed"`
	}
	tree struct {
		Value int     `json:"value"`
		Left  *tree   `json:"left,omitempty"`
		Kids  []*tree `json:"kids,omitempty"`
	}
	forest struct {
		First  tree            `json:"first"`
		Named  map[string]tree `json:"named"`
		Couple [2]page[int]    `json:"couple"`
	}
	page[T any] struct {
		Items []T      `json:"items"`
		Next  *page[T] `json:"next,omitempty"`
	}
	left   struct{ X int }
	flag   bool
	own    struct{ A int }
	custom struct{ hidden int }
	tagged struct {
		City  string   `json:"city" doc:"city name, in English" title:"City" min:"1" max:"80" example:"Oslo"`
		Days  int      `json:"days" min:"1" max:"14" default:"3"`
		Unit  string   `json:"unit,omitempty" enum:"c, f" default:"c"`
		Tags  []string `json:"tags,omitempty" max:"3" enum:"a,b" default:"[\"a\"]"`
		Mail  string   `json:"mail,omitempty" format:"email" pattern:"^[^@]+@[^@]+$"`
		Zone  string   `json:"zone,omitempty" header:"Region"`
		Maybe *int     `json:"maybe" enum:"1,2" required:"true"`
		Level float64  `json:"level" min:"0.5" required:"false"`
		Big   int64    `json:"big,string"`
		Own   *own     `json:"own" doc:"as it says"`
		Out   int      `json:"-"`
	}
)

func (own) MCPSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","minProperties":1}`)
}

func (custom) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (*custom) UnmarshalJSON([]byte) error  { return nil }

func TestSchemasOfTypesMatchDecoding(t *testing.T) {
	for _, c := range []struct {
		name string
		t    reflect.Type
		want string
	}{
		{"bool", reflect.TypeFor[flag](), `{"type":"boolean"}`},
		{"int64", reflect.TypeFor[int64](), `{"type":"integer"}`},
		{"uint8", reflect.TypeFor[uint8](), `{"type":"integer","minimum":0,"maximum":255}`},
		{"int16", reflect.TypeFor[int16](), `{"type":"integer","minimum":-32768,"maximum":32767}`},
		{"uint32", reflect.TypeFor[uint32](), `{"type":"integer","minimum":0,"maximum":4294967295}`},
		{"uint64", reflect.TypeFor[uint64](), `{"type":"integer","minimum":0}`},
		{"float", reflect.TypeFor[float32](), `{"type":"number"}`},
		{"bytes", reflect.TypeFor[[]byte](), `{"type":"string","contentEncoding":"base64"}`},
		{"array", reflect.TypeFor[[2]bool](), `{"type":"array","minItems":2,"maxItems":2,"items":{"type":"boolean"}}`},
		{"map", reflect.TypeFor[map[string][]int](), `{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`},
		{"map with text keys", reflect.TypeFor[map[netip.Addr]any](), `{"type":"object","additionalProperties":{}}`},
		{"pointer inside", reflect.TypeFor[[]*string](), `{"type":"array","items":{"type":["string","null"]}}`},
		{"time", reflect.TypeFor[time.Time](), `{"type":"string","format":"date-time"}`},
		{"duration", reflect.TypeFor[time.Duration](), `{"type":"string","format":"duration"}`},
		{"any", reflect.TypeFor[any](), `{}`},
		{"json.RawMessage", reflect.TypeFor[json.RawMessage](), `{}`},
		{"jsontext.Value", reflect.TypeFor[jsontext.Value](), `{}`},
		{"own JSON methods", reflect.TypeFor[custom](), `{}`},
		{"text", reflect.TypeFor[netip.Addr](), `{"type":"string"}`},
		{"text and JSON", reflect.TypeFor[big.Int](), `{}`},
		{"own schema", reflect.TypeFor[*own](), `{"type":"object","minProperties":1}`},
		{"empty struct", reflect.TypeFor[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`},
		{"embedding", reflect.TypeFor[withEmbedded](), `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},` +
			`"required":["id","name"],"additionalProperties":{"type":"integer"}}`},
		{"recursion", reflect.TypeFor[*tree](), `{"type":"object","properties":{"value":{"type":"integer"},` +
			`"left":{"anyOf":[{"$ref":"#"},{"type":"null"}]},"kids":{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}},` +
			`"required":["value"],"additionalProperties":false}`},
		{"recursion below", reflect.TypeFor[forest](), `{"type":"object","properties":{"first":{"$ref":"#/$defs/tree"},` +
			`"named":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}},` +
			`"couple":{"type":"array","minItems":2,"maxItems":2,"items":{"$ref":"#/$defs/page_int_"}}},` +
			`"required":["first","named","couple"],"additionalProperties":false,"$defs":{` +
			`"tree":{"type":"object","properties":{"value":{"type":"integer"},"left":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},` +
			`"kids":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}}},"required":["value"],"additionalProperties":false},` +
			`"page_int_":{"type":"object","properties":{"items":{"type":"array","items":{"type":"integer"}},` +
			`"next":{"anyOf":[{"$ref":"#/$defs/page_int_"},{"type":"null"}]}},"required":["items"],"additionalProperties":false}}}`},
		{"tags", reflect.TypeFor[tagged](), `{"type":"object","properties":{` +
			`"city":{"type":"string","title":"City","description":"city name, in English","minLength":1,"maxLength":80,"examples":["Oslo"]},` +
			`"days":{"type":"integer","minimum":1,"maximum":14,"default":3},` +
			`"unit":{"type":"string","enum":["c","f"],"default":"c"},` +
			`"tags":{"type":"array","maxItems":3,"items":{"type":"string","enum":["a","b"]},"default":["a"]},` +
			`"mail":{"type":"string","format":"email","pattern":"^[^@]+@[^@]+$"},` +
			`"zone":{"type":"string","x-mcp-header":"Region"},` +
			`"maybe":{"type":["integer","null"],"enum":[1,2,null]},` +
			`"level":{"type":"number","minimum":0.5},` +
			`"big":{"type":"string","pattern":"^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"},` +
			`"own":{"description":"as it says","anyOf":[{"type":"object","minProperties":1},{"type":"null"}]}},` +
			`"required":["city","maybe","big"],"additionalProperties":false}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := For(c.t, Options{})
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\n got %s\nwant %s", err, got, c.want)
			}
			v, err := Compile(got)
			if err != nil {
				t.Fatal(err)
			}
			if v.library != nil {
				t.Error("the schema is beyond the one pass")
			}
		})
	}
}

func TestTypesWithoutSchemaNameTypeFieldAndRemedy(t *testing.T) {
	for _, c := range []struct {
		t    reflect.Type
		want []string
	}{
		{reflect.TypeFor[struct{ C chan int }](), []string{".C: chan int has no JSON form", "json:\"-\""}},
		{reflect.TypeFor[struct{ F func() }](), []string{".F: func() has no JSON form"}},
		{reflect.TypeFor[struct{ Z complex128 }](), []string{".Z: complex128 has no JSON form"}},
		{reflect.TypeFor[struct{ M map[bool]string }](), []string{".M: map[bool]string has keys that are neither strings nor integers: use map[string]string"}},
		{reflect.TypeFor[struct {
			U *url.URL
			R error
		}](), []string{".R: interface error cannot be decoded"}},
		{reflect.TypeFor[struct {
			A int `json:"a,omitfoo"`
		}](), []string{`.A: json tag has the option "omitfoo"`, "use omitempty"}},
		{reflect.TypeFor[struct {
			A time.Time `json:"a,format:DateOnly"`
		}](), []string{`.A: json tag has the option "format:DateOnly"`}},
		{reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		}), []string{`.B: JSON name "x" is that of .A too: give one of them another name`}},
		{reflect.TypeFor[struct {
			A int `json:"-,"`
		}](), []string{`.A: json tag "-,"`, `write "-,case:strict"`}},
		{reflect.TypeFor[struct {
			A int `json:"a,"`
		}](), []string{`.A: json tag "a," ends with a comma`}},
		{reflect.TypeFor[struct {
			A int `json:"a,omitempty,omitempty"`
		}](), []string{"cannot be decoded", "duplicate appearance of `omitempty`"}},
		{reflect.TypeFor[struct{ *left }](), []string{".left: an embedded pointer to an unexported struct cannot be decoded"}},
		{reflect.TypeFor[struct {
			A int `mcp:"how many"`
		}](), []string{".A: tag mcp is not known here; use doc"}},
		{reflect.TypeFor[struct {
			P string `pattern:"(?=a)"`
		}](), []string{".P: tag pattern", "RE2"}},
		{reflect.TypeFor[struct {
			P int `pattern:"a"`
		}](), []string{".P: tags pattern and format are for strings only"}},
		{reflect.TypeFor[struct {
			N int `min:"one"`
		}](), []string{`.N: tag min:"one" is not a number`}},
		{reflect.TypeFor[struct {
			S string `min:"1.5"`
		}](), []string{`.S: tag min:"1.5" is not a number that fits`}},
		{reflect.TypeFor[struct {
			B bool `max:"1"`
		}](), []string{`.B: tag max:"1" is for numbers, strings, slices and maps only`}},
		{reflect.TypeFor[struct {
			B []byte `max:"1024"`
		}](), []string{`.B: tag max:"1024": the schema of bytes is a text in base64`, "leave the tag out, and compare len in the function"}},
		{reflect.TypeFor[struct {
			N int `enum:"1,x"`
		}](), []string{`.N: tag enum:"1,x": "x" is no integer`}},
		{reflect.TypeFor[struct {
			N int `default:"20" max:"14"`
		}](), []string{`.N: tag default:"20": expected integer at most 14, got 20`}},
		{reflect.TypeFor[struct {
			N int `required:"yes"`
		}](), []string{`.N: tag required:"yes" is neither true nor false`}},
		{reflect.TypeFor[struct {
			F float64 `header:"F"`
		}](), []string{".F: tag header", "strings, integers and booleans only"}},
		{reflect.TypeFor[struct {
			F string `header:"a b"`
		}](), []string{".F: tag header", "no HTTP header name"}},
		{reflect.TypeFor[struct {
			F string `header:"A"`
			G string `header:"a"`
		}](), []string{`G: tag header:"a" is that of F too: choose another`}},
		{reflect.TypeFor[struct {
			L []struct {
				F string `header:"A"`
			}
		}](), []string{`L[].F: tag header:"A" is inside a list`}},
		{reflect.TypeFor[struct {
			S []string `json:",string"`
		}](), []string{".S: json tag has the option string, which is for numbers, booleans and strings only"}},
		{reflect.TypeFor[struct{ Flag }](), []string{".Flag: an embedded field that is no struct needs a JSON name"}},
	} {
		_, err := For(c.t, Options{})
		if err == nil {
			t.Errorf("For(%s) has no error, want %q", c.t, c.want)
			continue
		}
		for _, want := range append(c.want, "no JSON schema for "+c.t.String()) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("For(%s): %v\nwant %q", c.t, err, want)
			}
		}
	}
}

// Flag is embedded by a test.
type Flag bool

func TestTagsWinOverDocs(t *testing.T) {
	pkg := reflect.TypeFor[tagged]().PkgPath()
	docs := Docs{pkg + ".page": "One page.", pkg + ".page.Items": "All of them.", pkg + ".tagged.City": "not this", pkg + ".tagged.Days": "how many"}
	got, err := For(reflect.TypeFor[page[bool]](), Options{Docs: docs})
	want := `{"type":"object","description":"One page.","properties":{"items":{"type":"array","description":"All of them.","items":{"type":"boolean"}},` +
		`"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["items"],"additionalProperties":false}`
	if err != nil || string(got) != want {
		t.Fatalf("%v\n got %s\nwant %s", err, got, want)
	}
	got, err = For(reflect.TypeFor[tagged](), Options{Docs: docs})
	if err != nil || !strings.Contains(string(got), `"description":"city name, in English"`) ||
		!strings.Contains(string(got), `"days":{"type":"integer","description":"how many"`) {
		t.Fatalf("%v %s", err, got)
	}
}

// An encoded value fits the schema of its type and decodes to the same value.
func TestSchemaAndCodecSpeakOneDialect(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type all struct {
		B     bool           `json:"b"`
		I     int64          `json:"i"`
		U     uint           `json:"u,omitempty"`
		F     float64        `json:"f"`
		S     string         `json:"s"`
		Bytes []byte         `json:"bytes"`
		Fixed [2]int         `json:"fixed"`
		List  []string       `json:"list"`
		Map   map[string]int `json:"map"`
		Ptr   *string        `json:"ptr"`
		Time  time.Time      `json:"time"`
		Span  time.Duration  `json:"span"`
		Any   any            `json:"any"`
		Addr  netip.Addr     `json:"addr"`
		Raw   jsontext.Value `json:"raw"`
		Big   int64          `json:"big,string"`
		In    *inner         `json:"in"`
		Tree  tree           `json:"tree"`
		inner
	}
	schema, err := For(reflect.TypeFor[all](), Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	word := "x"
	for _, value := range []all{
		{Raw: jsontext.Value("null")},
		{B: true, I: -1 << 62, U: 7, F: 0.25, S: "é\n", Bytes: []byte{0xff}, List: []string{"a"}, Map: map[string]int{"k": 1}, Ptr: &word,
			Time: time.Date(2026, 7, 28, 1, 2, 3, 4, time.UTC), Span: 90 * time.Minute, Any: []any{true}, Addr: netip.MustParseAddr("::1"),
			Raw: jsontext.Value(`{"a":1}`), Big: 1 << 60, In: &inner{3}, Tree: tree{Left: &tree{Value: 2}}, inner: inner{4}},
	} {
		text, err := Encode(nil, value)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		var back all
		if err := Decode(text, &back); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		again, err := Encode(nil, back)
		if err != nil || string(again) != string(text) {
			t.Errorf("%v\n was %s\n now %s", err, text, again)
		}
	}
}
