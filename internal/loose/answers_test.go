package loose

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const form = `{"message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"size":{"type":"number"},"sure":{"type":"boolean","default":true},"tags":{"type":"array","items":{"enum":["a","b"]}}}}}`

// answered holds results of clients, their use, and the recorded tolerances.
var answered = []struct {
	name, method, params, in, want, named string
}{
	// Sampling.
	{"a sample", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"endTurn","x":null}`, "", ""},
	{"a sample with a list", "sampling/createMessage", `{}`, `{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"1","name":"n","input":{}}],"model":"m"}`, "", ""},
	{"a stop reason of a vendor", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"contentFilter"}`, "", ""},
	{"content as a text", "sampling/createMessage", `{}`, `{"role":"assistant","content":"t","model":"m"}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "block-form: content"},
	{"content as a number", "sampling/createMessage", `{}`, `{"role":"assistant","content":42,"model":"m"}`, `{"role":"assistant","content":{"type":"text","text":"42"},"model":"m"}`, "block-form: content"},
	{"content as a list of texts", "sampling/createMessage", `{}`, `{"role":"assistant","content":["a",2],"model":"m"}`, `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"2"}],"model":"m"}`, "block-form: content[0] and 1 more"},
	{"content without a type", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"text":"t"},"model":"m"}`, `{"role":"assistant","content":{"text":"t","type":"text"},"model":"m"}`, "block-form: content.type"},
	{"content of a type in other letters", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"TEXT","text":"t"},"model":"m"}`, `{"role":"assistant","content":{"text":"t","type":"text"},"model":"m"}`, "letter-case: content.type"},
	{"a text that is a number", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":4},"model":"m"}`, `{"role":"assistant","content":{"type":"text","text":"4"},"model":"m"}`, "member-form: content.text"},
	{"a picture without a type of media", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"image","data":"data:image/png;base64,` + png + `"},"model":"m"}`, `{"role":"assistant","content":{"type":"image","data":"` + png + `","mimeType":"image/png"},"model":"m"}`, "media-type: content.mimeType, base64-form: content.data"},
	{"a block that cannot be read", "sampling/createMessage", `{}`, `{"role":"assistant","content":[{"type":"image","data":7},{"type":"text","text":"t"}],"model":"m"}`, `{"role":"assistant","content":[{"type":"text","text":"[a block of type image is left out: its member data is missing or cannot be read]"},{"type":"text","text":"t"}],"model":"m"}`, "block-left-out: content[0]"},
	{"no content", "sampling/createMessage", `{}`, `{"role":"assistant","model":"m","stopReason":null}`, "", ""},
	{"content that is null", "sampling/createMessage", `{}`, `{"role":"ASSISTANT","content":null,"model":"m"}`, "", ""},
	{"no model", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"}}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":""}`, "missing-member: model"},
	{"a model that is null", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":null}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":""}`, "missing-member: model"},
	{"a model that is a number", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":4}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"4"}`, "member-form: model"},
	{"no role", "sampling/createMessage", `{}`, `{"content":{"type":"text","text":"t"},"model":"m"}`, `{"content":{"type":"text","text":"t"},"model":"m","role":"assistant"}`, "missing-member: role"},
	{"a role in other letters", "sampling/createMessage", `{}`, `{"role":"Assistant ","content":{"type":"text","text":"t"},"model":"m"}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "letter-case: role"},
	{"another role", "sampling/createMessage", `{}`, `{"role":"model","content":{"type":"text","text":"t"},"model":"m"}`, `{"content":{"type":"text","text":"t"},"model":"m","role":"assistant"}`, "missing-member: role"},
	{"a stop reason in other letters", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"end_turn"}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"endTurn"}`, "letter-case: stopReason"},
	{"a stop reason in capitals", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"MAX_TOKENS"}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"maxTokens"}`, "letter-case: stopReason"},
	{"a stop reason that is null", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":null}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "null-member: stopReason"},
	{"a stop reason that is a number", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":1}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "member-left-out: stopReason"},
	{"_meta that is a list", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","_meta":[1]}`, `{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}`, "member-left-out: _meta"},
	{"the use of a tool whose input is missing", "sampling/createMessage", `{}`, `{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n"},"model":"m"}`, `{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}},"model":"m"}`, "missing-member: content.input"},
	{"the use of a tool whose input is text", "sampling/createMessage", `{}`, `{"role":"assistant","content":[{"type":"tool_use","id":7,"name":"n","input":"{\"a\":1}"}],"model":"m"}`, `{"role":"assistant","content":[{"type":"tool_use","id":"7","name":"n","input":{"a":1}}],"model":"m"}`, "member-form: content[0].input and 1 more"},
	{"the use of a tool in other letters", "sampling/createMessage", `{}`, `{"role":"assistant","content":[{"type":"Tool_Use","id":"1","name":"n","input":[]}],"model":"m"}`, `{"role":"assistant","content":[{"id":"1","name":"n","input":{},"type":"tool_use"}],"model":"m"}`, "letter-case: content[0].type, member-form: content[0].input"},
	{"the use of a tool without an id", "sampling/createMessage", `{}`, `{"role":"assistant","content":[{"type":"tool_use","name":"n","input":{}},"t"],"model":"m"}`, `{"role":"assistant","content":[{"type":"text","text":"[a block of content without a type is left out: its member id is missing or cannot be read]"},{"type":"text","text":"t"}],"model":"m"}`, "block-left-out: content[0], block-form: content[1]"},

	// Elicitation.
	{"an accepted form", "elicitation/create", form, `{"action":"accept","content":{"name":"n","age":4,"size":1.5,"sure":false,"tags":["a"],"x":null}}`, "", ""},
	{"an action in other letters", "elicitation/create", form, `{"action":" ACCEPT","content":{"name":"n"}}`, `{"action":"accept","content":{"name":"n"}}`, "letter-case: action"},
	{"accepted", "elicitation/create", form, `{"action":"Accepted","content":{}}`, `{"action":"accept","content":{}}`, "action-word: action"},
	{"declined", "elicitation/create", form, `{"action":"declined"}`, `{"action":"decline"}`, "action-word: action"},
	{"reject", "elicitation/create", form, `{"action":"reject"}`, `{"action":"decline"}`, "action-word: action"},
	{"cancelled", "elicitation/create", form, `{"action":"cancelled"}`, `{"action":"cancel"}`, "action-word: action"},
	{"canceled with content that is null", "elicitation/create", form, `{"action":"Canceled","content":null}`, `{"action":"cancel"}`, "null-member: content, action-word: action"},
	{"another action", "elicitation/create", form, `{"action":"ok","content":{"name":"n"}}`, "", ""},
	{"an action that is true", "elicitation/create", form, `{"action":true,"content":{"name":"n"}}`, "", ""},
	{"no action", "elicitation/create", form, `{"content":{"name":"n"}}`, "", ""},
	{"declined, with a text as content", "elicitation/create", form, `{"action":"decline","content":""}`, `{"action":"decline"}`, "member-left-out: content"},
	{"content as the text of an object", "elicitation/create", form, `{"action":"accept","content":"{\"name\":\"n\",\"age\":\"4\"}"}`, `{"action":"accept","content":{"name":"n","age":4}}`, "member-form: content and 1 more"},
	{"content of PHP", "elicitation/create", form, `{"action":"accept","content":[]}`, `{"action":"accept","content":{}}`, "member-form: content"},
	{"content that is null and no action", "elicitation/create", form, `{"content":null}`, "", ""},
	{"content that is a list and an action that is null", "elicitation/create", form, `{"action":null,"content":[]}`, "", ""},
	{"content as another text", "elicitation/create", form, `{"action":"accept","content":"bob"}`, "", ""},
	{"content as the text of an object with a name twice", "elicitation/create", form, `{"action":"accept","content":"{\"sure\":false,\"sure\":true}"}`, "", ""},
	{"numbers as texts", "elicitation/create", form, `{"action":"accept","content":{"age":"4","size":"1.5"}}`, `{"action":"accept","content":{"age":4,"size":1.5}}`, "member-form: content.age and 1 more"},
	{"an integer with a fraction", "elicitation/create", form, `{"action":"accept","content":{"age":4.0}}`, `{"action":"accept","content":{"age":4}}`, "member-form: content.age"},
	{"a text as a number", "elicitation/create", form, `{"action":"accept","content":{"name":5}}`, `{"action":"accept","content":{"name":"5"}}`, "member-form: content.name"},
	{"a boolean as a text", "elicitation/create", form, `{"action":"accept","content":{"sure":"False"}}`, `{"action":"accept","content":{"sure":false}}`, "member-form: content.sure"},
	{"a boolean as a word, which no default takes the place of", "elicitation/create", form, `{"action":"accept","content":{"sure":"nope","name":5}}`, "", ""},
	{"one choice in place of a list", "elicitation/create", form, `{"action":"accept","content":{"tags":"a"}}`, `{"action":"accept","content":{"tags":["a"]}}`, "list-form: content.tags"},
	{"a field that is null", "elicitation/create", form, `{"action":"accept","content":{"name":null,"age":1}}`, `{"action":"accept","content":{"age":1}}`, "null-member: content.name"},

	// Roots.
	{"roots", "roots/list", ``, `{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]}`, "", ""},
	{"roots that are null", "roots/list", ``, `{"roots":null}`, `{"roots":[]}`, "list-form: roots"},
	{"no roots", "roots/list", ``, `{}`, `{"roots":[]}`, "list-form: roots"},
	{"roots that are a number", "roots/list", ``, `{"roots":7}`, "", ""},
	{"one root", "roots/list", ``, `{"roots":{"uri":"file:///a"}}`, `{"roots":[{"uri":"file:///a"}]}`, "list-form: roots"},
	{"roots that are URIs", "roots/list", ``, `{"roots":["file:///a","b"]}`, `{"roots":[{"uri":"file:///a"}]}`, "member-form: roots[0], entry-left-out: roots[1]"},
	{"a root without a URI", "roots/list", ``, `{"roots":[{"name":"a"},{"uri":"file:///b","name":null}]}`, `{"roots":[{"uri":"file:///b"}]}`, "entry-left-out: roots[0], null-member: roots[1].name"},
	{"a list in place of the result", "roots/list", ``, `[{"uri":"file:///a","name":3}]`, `{"roots":[{"uri":"file:///a","name":"3"}]}`, "list-form: roots, member-form: roots[0].name"},
	{"a text in place of the result", "roots/list", ``, `"file:///a"`, "", ""},
	{"a method of others", "example.com/own", ``, `{"a":null}`, "", ""},
}

func TestAnswer(t *testing.T) {
	for _, tt := range answered {
		t.Run(tt.method+"/"+tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" { // unchanged
				want = tt.in
			}
			got, found := Answer(tt.method, []byte(tt.params), []byte(tt.in))
			var names []string
			for _, f := range found {
				names = append(names, f.Tolerance.Name()+": "+f.String())
			}
			if named := strings.Join(names, ", "); string(got) != want || named != tt.named {
				t.Errorf("got   %s\nwant  %s\nnamed %s\nwant  %s", got, want, named, tt.named)
			}
			if again, more := Answer(tt.method, []byte(tt.params), got); string(again) != string(got) || len(more) != 0 {
				t.Errorf("read again: %s, named %v", again, more)
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	for _, tt := range answered {
		f.Add(tt.method, tt.params, tt.in)
	}
	f.Fuzz(func(t *testing.T, method, params, in string) {
		if jsonrpc.Valid([]byte(in), jsonrpc.Limits{}) != nil || params != "" && jsonrpc.Valid([]byte(params), jsonrpc.Limits{}) != nil {
			return
		}
		out, _ := Answer(method, []byte(params), []byte(in))
		if jsonrpc.Valid(out, jsonrpc.Limits{}) != nil {
			t.Errorf("%s became %s", in, out)
		}
	})
}
