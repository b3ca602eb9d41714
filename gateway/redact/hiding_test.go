package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxTexts equals the limit in internal/redact.
const maxTexts = 8

func TestResultsHaveNothingHiddenInTheirTexts(t *testing.T) {
	quote := func(text string) string { return string(jsonrpc.AppendString(nil, text)) }
	text := func(text string) string { return `{"content":[{"type":"text","text":` + quote(text) + `}]}` }
	structured := func(text string) string { return `{"structuredContent":{"content":` + quote(text) + `}}` }
	nested := func(depth int, text string) string {
		for range depth {
			text = `{"x":` + quote(text) + `}`
		}
		return text
	}
	var many strings.Builder
	for n := range 10_001 {
		many.WriteString(`"` + strconv.Itoa(n) + `":1,`)
	}
	deep := strings.Repeat(`[`, 200) + `]` + strings.Repeat(`]`, 199)
	for _, test := range []struct{ name, paths, body, want string }{
		{"a string of structured content that is JSON", "/salary", structured(`{"salary":5,"n":1}`), structured(`{"salary":"***","n":1}`)},
		{"one that is a list", "/*/salary", structured(`[{"salary":5}]`), structured(`[{"salary":"***"}]`)},
		{"one to which the path leads", "/content/salary", structured(`{"salary":5}`), structured(`{"salary":"***"}`)},
		{"one that is written with escapes", "/salary", `{"structuredContent":{"content":"\u007b\"s\\u0061lary\":5}"}}`, structured(`{"salary":"***"}`)},
		{"one that is nowhere", "/salary", structured(`{"wage":{"salary":5}}`), structured(`{"wage":{"salary":5}}`)},
		{"one that only begins like JSON", "/salary", structured(`{"salary":5`), structured(`{"salary":5`)},
		{"JSON in JSON in JSON", "/salary", structured(nested(2, `{"salary":5}`)), structured(nested(2, `{"salary":"***"}`))},
		{"JSON in as many texts as are looked through", "/salary", text(nested(maxTexts-1, `{"salary":5}`)), text(nested(maxTexts-1, `{"salary":"***"}`))},
		{"JSON in more", "/salary", text(nested(maxTexts, `{"salary":5}`)), text(nested(maxTexts-1, `{"x":"***"}`))},
		{"a text that is JSON in quotes", "/salary", text(quote(`{"salary":5}`)), text(quote(`{"salary":"***"}`))},
		{"a text in a text", "/salary", text(`{"content":` + quote(`{"salary":5}`) + `}`), text(`{"content":` + quote(`{"salary":"***"}`) + `}`)},
		{"a text with blanks around", "/salary", text("\uFEFF \n\t{\n  \"salary\": 5,\n  \"n\": [1, 2]\n}\u00A0\r\n"), text(`{"salary":"***","n":[1,2]}`)},
		{"a text of lines", "/salary", text("{\"salary\":5}\r\n{\"salary\":6,\"n\":1}\n\n{\"n\":2}"), text("{\"salary\":\"***\"}\r\n{\"salary\":\"***\",\"n\":1}\n\n{\"n\":2}")},
		{"a text of which some lines are JSON", "/salary", text("2 rows:\n{\"salary\":5}\nsalary: 6"), text("2 rows:\n{\"salary\":\"***\"}\nsalary: 6")},
		{"lines in structured content", "/salary", structured("{\"salary\":5}\n{\"salary\":6}\n"), structured("{\"salary\":\"***\"}\n{\"salary\":\"***\"}\n")},
		{"a text in which a name repeats", "/salary", text(`{"salary":5,"salary":6}`), text(`{"salary":"***","salary":"***"}`)},
		{"a text of many members", "/salary", text(`{` + many.String() + `"salary":5}`), text(`{` + many.String() + `"salary":"***"}`)},
		{"a text that is nested deeper than messages are", "/salary", text(`{"n":` + deep + `,"salary":5}`), text(`{"n":` + deep + `,"salary":"***"}`)},
		{"a text that is no JSON", "/salary", text(`the "salary" is {5}`), text(`the "salary" is {5}`)},
		{"an embedded resource", "/salary", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"{\"salary\":5}","_meta":{"salary":5}}}]}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"{\"salary\":\"***\"}","_meta":{"salary":"***"}}}]}`},
		{"the contents of a resource", "/salary", `{"contents":[{"uri":"a:b","text":"[]\n{\"salary\":5}"}]}`, `{"contents":[{"uri":"a:b","text":"[]\n{\"salary\":\"***\"}"}]}`},
		{"metadata", "/salary /raw/salary", `{"content":[{"type":"text","text":"x","_meta":{"salary":5}}],"_meta":{"raw":{"salary":5},"again":"{\"salary\":5}"}}`, `{"content":[{"type":"text","text":"x","_meta":{"salary":"***"}}],"_meta":{"raw":{"salary":"***"},"again":"{\"salary\":\"***\"}"}}`},
		{"metadata of the protocol", "/*", `{"structuredContent":{"a":1},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"},"a":1}}`, `{"structuredContent":{"a":"***"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"},"a":"***"}}`},
	} {
		p, err := Parse(strings.Fields(test.paths)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.HideResult([]byte(test.body)); string(got) != test.want {
			t.Errorf("%s:\n%.2000s\nwant\n%.2000s", test.name, got, test.want)
		}
	}
}

func TestAPathLeadsOnIntoAnArgumentThatIsJSON(t *testing.T) {
	p, err := Parse("/body/salary", "/note")
	if err != nil {
		t.Fatal(err)
	}
	const arguments = `{"body":"{\"salary\":5,\"note\":1}","other":"{\"note\":1}"}`
	if got := p.Hide([]byte(arguments)); string(got) != `{"body":"{\"salary\":\"***\",\"note\":1}","other":"{\"note\":1}"}` {
		t.Errorf("%s", got) // a path that does not lead to a text leaves it unchanged
	}
}

func FuzzHideResult(f *testing.F) {
	p, err := Parse("/a", "/b/*/c", "/0")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"structuredContent":{"a":"{\"a\":1}"}}`, `{"content":[{"text":"[1]\n{\"a\":1}"}],"_meta":{"b":[{"c":1}]}}`, `{"content":[{"resource":{"text":" {}"}}]}`, `{"content"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		hidden := p.HideResult(body)
		if !json.Valid(body) {
			return
		}
		if !json.Valid(hidden) {
			t.Fatalf("%s became %s", body, hidden)
		}
		if again := p.HideResult(hidden); string(again) != string(hidden) {
			t.Fatalf("%s became %s, and that %s", body, hidden, again)
		}
	})
}
