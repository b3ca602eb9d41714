package arguments

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const forecast = `{"type":"object","required":["city"],"properties":{
	"city":{"type":"string","description":"City."},
	"days":{"type":"integer","default":3},
	"factor":{"type":"number"},
	"hourly":{"type":"boolean"},
	"unit":{"enum":["C","F"]},
	"level":{"enum":[1,2]},
	"tags":{"type":"array","items":{"type":"string"}},
	"sizes":{"type":"array","items":{"type":"integer"}},
	"where":{"type":"object","required":["lat"],"properties":{"lat":{"type":"number"},"name":{"type":"string"},"in":{"$ref":"#/$defs/area"}}},
	"map":{"type":"object","additionalProperties":{"type":"integer"}},
	"a.b":{"type":"string"},
	"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
	"text":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"id":{"type":["string","integer"]},
	"free":{},
	"area":{"$ref":"#/$defs/area"},
	"list":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},
	"image":{"type":"string","contentEncoding":"base64"}
	},"$defs":{"area":{"type":"object","properties":{"km":{"type":"integer"}}}}}`

func files(name string) ([]byte, error) {
	switch name {
	case "note.txt":
		return []byte("line\n"), nil
	case "area.json":
		return []byte(" {\"km\": 5}\n"), nil
	case "binary":
		return []byte{0xff, 0x00}, nil
	case "-":
		return []byte("typed"), nil
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

func TestBuild(t *testing.T) {
	for _, test := range []struct{ name, words, want string }{
		{"text is text, also if it looks like a number", `city=42`, `{"city":"42"}`},
		{"text keeps equals signs, colons and spaces", `city= a:=b=c `, `{"city":" a:=b=c "}`},
		{"empty text is text", `city=`, `{"city":""}`},
		{"the word null is text", `city=null`, `{"city":"null"}`},
		{"integers are numbers", `city=Oslo|days=3`, `{"city":"Oslo","days":3}`},
		{"negative and large integers stay as they are", `city=x|days=-12345678901234567890`, `{"city":"x","days":-12345678901234567890}`},
		{"an integer may have an empty fraction", `city=x|days=3.0`, `{"city":"x","days":3.0}`},
		{"numbers may have an exponent", `city=x|factor=-1.5e3`, `{"city":"x","factor":-1.5e3}`},
		{"booleans are true or false", `city=x|hourly=true`, `{"city":"x","hourly":true}`},
		{"a choice of texts is text", `city=x|unit=F`, `{"city":"x","unit":"F"}`},
		{"a choice of numbers is a number", `city=x|level=2`, `{"city":"x","level":2}`},
		{"a repeated key is a list", `city=x|tags=a|tags=2`, `{"city":"x","tags":["a","2"]}`},
		{"one value of a list is a list", `city=x|sizes=7`, `{"city":"x","sizes":[7]}`},
		{"a list may be JSON", `city=x|sizes=[7, 8]`, `{"city":"x","sizes":[7, 8]}`},
		{"an empty value is an empty list", `city=x|tags=`, `{"city":"x","tags":[]}`},
		{"text that only begins like a list is one value", `city=x|tags=[draft] a`, `{"city":"x","tags":["[draft] a"]}`},
		{"dots lead into objects", `city=x|where.lat=59.9|where.name=7`, `{"city":"x","where":{"lat":59.9,"name":"7"}}`},
		{"dots lead into objects behind references", `city=x|where.lat=1|where.in.km=5`, `{"city":"x","where":{"lat":1,"in":{"km":5}}}`},
		{"an object may be JSON", `city=x|where={"lat":1}`, `{"city":"x","where":{"lat":1}}`},
		{"a name with a dot wins", `city=x|a.b=1`, `{"city":"x","a.b":"1"}`},
		{"a map takes any name", `city=x|map.one=1|map.two=2`, `{"city":"x","map":{"one":1,"two":2}}`},
		{"what may be null can be null", `city=x|maybe=null`, `{"city":"x","maybe":null}`},
		{"what may be null can be a number", `city=x|maybe=5`, `{"city":"x","maybe":5}`},
		{"null of text is text unless it is forced", `city=x|text=null`, `{"city":"x","text":"null"}`},
		{"null of text can be forced", `city=x|text:=null`, `{"city":"x","text":null}`},
		{"of several types the one that reads as JSON wins", `city=x|id=5`, `{"city":"x","id":5}`},
		{"of several types text is what is left", `city=x|id=5a`, `{"city":"x","id":"5a"}`},
		{"without a type JSON is JSON", `city=x|free={"a":[1]}`, `{"city":"x","free":{"a":[1]}}`},
		{"without a type the rest is text", `city=x|free=a b`, `{"city":"x","free":"a b"}`},
		{"quoted JSON strings keep their quotes", `city="x"`, `{"city":"\"x\""}`},
		{"a list inside an alternative is repeated too", `city=x|list=1|list=2`, `{"city":"x","list":[1,2]}`},
		{"JSON is taken as it is", `city:=["any"]`, `{"city":["any"]}`},
		{"a file is text", `city=@note.txt`, `{"city":"line\n"}`},
		{"a file is typed", `city=x|area=@area.json`, `{"city":"x","area":{"km": 5}}`},
		{"a file may be forced", `city:=@area.json`, `{"city":{"km": 5}}`},
		{"a binary file is base64 where the schema says so", `city=x|image=@binary`, `{"city":"x","image":"/wA="}`},
		{"standard input is a file", `city=@-`, `{"city":"typed"}`},
		{"two at signs are one", `city=@@home`, `{"city":"@home"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Build([]byte(forecast), strings.Split(test.words, "|"), files)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, test := range []struct{ name, words, want string }{
		{"a word without a value", `city`, `argument "city": expected key=value, or key:=JSON`},
		{"a missing argument", `days=3`, `argument missing: city (string) is required`},
		{"a missing member", `city=x|where.name=y`, `argument "where": argument missing: where.lat (number) is required`},
		{"an unknown argument, with the near one", `citi=x`, `unknown argument "citi"; did you mean "city"?`},
		{"an unknown member", `city=x|where.lot=5`, `unknown argument "where.lot"; did you mean "lat"?`},
		{"a member of what is no object", `city.name=x`, `argument "city.name": "city" is not an object, but string`},
		{"text for an integer", `city=x|days=three`, `argument "days": expected integer, got "three"`},
		{"a fraction for an integer", `city=x|days=1.5`, `argument "days": expected integer, got "1.5"`},
		{"a number in no JSON form", `city=x|factor=.5`, `argument "factor": expected number, got ".5"`},
		{"yes for a boolean", `city=x|hourly=yes`, `argument "hourly": expected boolean, got "yes"`},
		{"a second value of a single argument", `city=x|city=y`, `argument "city": given 2 times, but it is not a list`},
		{"a wrong element", `city=x|sizes=1|sizes=b`, `argument "sizes": element 2: expected integer, got "b"`},
		{"broken JSON", `city:={`, `argument "city": the value after := must be JSON`},
		{"a whole and a part", `city=x|where.lat=1|where={}`, `argument "where": given both as a whole and by its members; use one form`},
		{"a file that is not there", `city=@nope`, `argument "city": open nope: no such file (to give text that begins with @, write @@)`},
		{"a file that is no text", `city=@binary`, `argument "city": the text is not valid UTF-8`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Build([]byte(forecast), strings.Split(test.words, "|"), files)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %s, %v, want the error %q", got, err, test.want)
			}
		})
	}
}

func TestBuildOfSchemasThatSayLittle(t *testing.T) {
	for _, test := range []struct{ name, schema, word, want, err string }{
		{"no schema makes text", ``, "a=1", `{"a":"1"}`, ""},
		{"no schema knows no dots", ``, "a.b=1", `{"a.b":"1"}`, ""},
		{"an object of which nothing is known takes anything", `{"type":"object"}`, "a=1", `{"a":1}`, ""},
		{"an object that is closed takes nothing", `{"type":"object","additionalProperties":false}`, "a=1", "", `unknown argument "a": the tool takes no arguments`},
		{"an object without members takes nothing", `{"type":"object","properties":{}}`, "a=1", "", `unknown argument "a": the tool takes no arguments`},
		{"an object that is open takes anything", `{"type":"object","properties":{"b":{}},"additionalProperties":true}`, "a=1", `{"a":1}`, ""},
		{"a schema that refers to itself ends", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, "a=1", `{"a":1}`, ""},
		{"alternatives that multiply end", `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}]}}}`, "a=1", `{"a":1}`, ""},
		{"lists of lists take JSON only", `{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`, "a=x", "", `argument "a": element 1: expected any[], got "x"`},
		{"alternatives that refer to themselves end", `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},{"type":"integer"}]}}}`, "a=1", `{"a":1}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var schema []byte
			if test.schema != "" {
				schema = []byte(test.schema)
			}
			got, err := Build(schema, []string{test.word}, files)
			if test.err != "" && (err == nil || err.Error() != test.err) || test.err == "" && (err != nil || string(got) != test.want) {
				t.Errorf("got %s, %v, want %s %s", got, err, test.want, test.err)
			}
		})
	}
}

func TestFieldsDescribeTheTypes(t *testing.T) {
	want := map[string]string{
		"city": "string", "days": "integer", "unit": "C|F", "level": "1|2", "tags": "string[]", "where": "object", "maybe": "integer",
		"id": "string|integer", "free": "any", "area": "object", "list": "integer[]",
	}
	for _, f := range Fields([]byte(forecast)) {
		if f.Required != (f.Name == "city") {
			t.Errorf("%s is required: %v", f.Name, f.Required)
		}
		if kind, ok := want[f.Name]; ok && f.Type != kind {
			t.Errorf("%s is %s, want %s", f.Name, f.Type, kind)
		}
	}
}

func FuzzBuildMakesJSON(f *testing.F) {
	f.Add(forecast, "city=x\nwhere.lat=1\ntags=a\ntags=b")
	f.Add(`{"properties":{"a":{"anyOf":[{"$ref":"#"},{"type":["array","null"]}]}}}`, "a.a.a=[1]")
	f.Fuzz(func(t *testing.T, schema, words string) {
		if _, fault := jsonrpc.Index([]byte(schema), jsonrpc.Limits{}); fault != nil {
			return
		}
		got, err := Build([]byte(schema), strings.Split(words, "\n"), files)
		if err != nil {
			return
		}
		if _, fault := jsonrpc.Index(got, jsonrpc.Limits{}); fault != nil {
			t.Errorf("%s of %q is no object: %v", got, words, fault)
		}
	})
}

func TestArgumentsOfCombinedSchemas(t *testing.T) {
	const schema = `{"allOf":[{"properties":{"a":{"$ref":"#count"}},"required":["a"]},{"$ref":"#/%24defs/more"}],"properties":{"c":{"allOf":[{"type":"boolean"}]}},
		"$defs":{"count":{"$anchor":"count","type":"integer"},"more":{"properties":{"b":{"type":"array","items":{"$ref":"#count"}}},"required":["b"]}}}`
	got, err := Build([]byte(schema), []string{"a=1", "b=2", "c=true"}, files)
	if want := `{"a":1,"b":[2],"c":true}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	_, err = Build([]byte(schema), []string{"c=true"}, files)
	if want := "arguments missing: a (integer), b (integer[]) are required"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
