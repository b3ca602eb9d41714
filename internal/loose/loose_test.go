package loose

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"

// odd holds forms of messages, their use, and the recorded tolerances. A method that begins with
// "notifications/" or asks the client stands for parameters.
var odd = []struct {
	name, method, in, want, named string
}{
	// Lists.
	{"a list that is null", "tools/list", `{"tools":null}`, `{"tools":[]}`, "list-form: tools"},
	{"a list that is missing", "prompts/list", `{}`, `{"prompts":[]}`, "list-form: prompts"},
	{"a list that is one entry", "resources/list", `{"resources":{"uri":"a:b","name":"n"}}`, `{"resources":[{"uri":"a:b","name":"n"}]}`, "list-form: resources"},
	{"a list that is a text", "tools/list", `{"tools":"none"}`, `{"tools":[]}`, "list-form: tools"},
	{"a cursor that is a number", "tools/list", `{"tools":[],"nextCursor":2}`, `{"tools":[],"nextCursor":"2"}`, "cursor-form: nextCursor"},
	{"a cursor that is null", "tools/list", `{"tools":[],"nextCursor":null}`, `{"tools":[]}`, "null-member: nextCursor"},
	{"a cursor that is true", "tools/list", `{"tools":[],"nextCursor":true}`, `{"tools":[]}`, "member-left-out: nextCursor"},

	// Tools.
	{"a tool without a name", "tools/list", `{"tools":[{"description":"d"},{"name":"b"}]}`, `{"tools":[{"name":"b"}]}`, "entry-left-out: tools[0]"},
	{"a tool whose name is a number", "tools/list", `{"tools":[{"name":"a"},{"name":5}]}`, `{"tools":[{"name":"a"}]}`, "entry-left-out: tools[1]"},
	{"a tool whose name is empty", "tools/list", `{"tools":[{"name":""}]}`, `{"tools":[]}`, "entry-left-out: tools[0]"},
	{"a tool that is a text", "tools/list", `{"tools":["a"]}`, `{"tools":[]}`, "entry-left-out: tools[0]"},
	{"an input schema that is a text", "tools/list", `{"tools":[{"name":"a","inputSchema":"{}"},{"name":"b"}]}`, `{"tools":[{"name":"b"}]}`, "entry-left-out: tools[0]"},
	{"an input schema that is true", "tools/list", `{"tools":[{"name":"a","inputSchema":true}]}`, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, "member-form: tools[0].inputSchema"},
	{"properties of PHP", "tools/list", `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":[]}}]}`, `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{}}}]}`, "member-form: tools[0].inputSchema.properties"},
	{"required that is null", "tools/list", `{"tools":[{"name":"a","inputSchema":{"type":"object","required":null}}]}`, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, "null-member: tools[0].inputSchema.required"},
	{"an output schema that is a text", "tools/list", `{"tools":[{"name":"a","outputSchema":"x"}]}`, `{"tools":[{"name":"a"}]}`, "member-left-out: tools[0].outputSchema"},
	{"annotations that are an array", "tools/list", `{"tools":[{"name":"a","annotations":["x"]}]}`, `{"tools":[{"name":"a"}]}`, "member-left-out: tools[0].annotations"},
	{"a hint that is a text", "tools/list", `{"tools":[{"name":"a","annotations":{"readOnlyHint":"False"}}]}`, `{"tools":[{"name":"a","annotations":{"readOnlyHint":false}}]}`, "member-form: tools[0].annotations.readOnlyHint"},
	{"a hint that is a word", "tools/list", `{"tools":[{"name":"a","annotations":{"readOnlyHint":"maybe","title":"t"}}]}`, `{"tools":[{"name":"a","annotations":{"title":"t"}}]}`, "member-left-out: tools[0].annotations.readOnlyHint"},
	{"a title that is null, twice", "tools/list", `{"tools":[{"name":"a","title":null},{"name":"b","title":null}]}`, `{"tools":[{"name":"a"},{"name":"b"}]}`, "null-member: tools[0].title and 1 more"},
	{"a description that is a number", "tools/list", `{"tools":[{"name":"a","description":12.50}]}`, `{"tools":[{"name":"a","description":"12.50"}]}`, "member-form: tools[0].description"},
	{"an icon without a source", "tools/list", `{"tools":[{"name":"a","icons":[{},{"src":"s","sizes":"any"}]}]}`, `{"tools":[{"name":"a","icons":[{"src":"s","sizes":["any"]}]}]}`, "member-left-out: tools[0].icons[0], list-form: tools[0].icons[1].sizes"},
	{"_meta that is an array", "tools/list", `{"tools":[{"name":"a","_meta":[1]}],"_meta":"x"}`, `{"tools":[{"name":"a"}]}`, "member-left-out: tools[0]._meta and 1 more"},

	// Prompts.
	{"arguments by name", "prompts/list", `{"prompts":[{"name":"p","arguments":{"city":{"required":"true"}}}]}`, `{"prompts":[{"name":"p","arguments":[{"required":true,"name":"city"}]}]}`, "member-form: prompts[0].arguments and 1 more"},
	{"one argument", "prompts/list", `{"prompts":[{"name":"p","arguments":{"name":"city"}}]}`, `{"prompts":[{"name":"p","arguments":[{"name":"city"}]}]}`, "list-form: prompts[0].arguments"},
	{"an argument without a name", "prompts/list", `{"prompts":[{"name":"p","arguments":[{"required":true},{"name":"b"}]}]}`, `{"prompts":[{"name":"p","arguments":[{"name":"b"}]}]}`, "entry-left-out: prompts[0].arguments[0]"},
	{"arguments that are a text", "prompts/list", `{"prompts":[{"name":"p","arguments":"city"}]}`, `{"prompts":[{"name":"p"}]}`, "member-left-out: prompts[0].arguments"},
	{"messages with a text as content", "prompts/get", `{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`, "block-form: messages[0].content"},
	{"a message with two blocks", "prompts/get", `{"messages":[{"role":"User","content":["a",{"type":"text","text":"b"}]}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"b"}}]}`, "block-form: messages[0] and 1 more, letter-case: messages[0].role and 1 more"},
	{"a message of another role", "prompts/get", `{"description":null,"messages":[{"role":"system","content":{"type":"text","text":"b"}}]}`, `{"messages":[]}`, "null-member: description, block-left-out: messages[0]"},

	// Resources and templates.
	{"a size that is a text", "resources/list", `{"resources":[{"uri":"a:b","name":"n","size":"1024"}]}`, `{"resources":[{"uri":"a:b","name":"n","size":1024}]}`, "member-form: resources[0].size"},
	{"a size that is 1e3", "resources/list", `{"resources":[{"uri":"a:b","name":"n","size":1e3}]}`, `{"resources":[{"uri":"a:b","name":"n","size":1000}]}`, "member-form: resources[0].size"},
	{"a size of a half", "resources/list", `{"resources":[{"uri":"a:b","name":"n","size":10.5}]}`, `{"resources":[{"uri":"a:b","name":"n"}]}`, "member-left-out: resources[0].size"},
	{"a resource without a name", "resources/list", `{"resources":[{"uri":"a:b"}]}`, `{"resources":[{"uri":"a:b","name":"a:b"}]}`, "missing-member: resources[0].name"},
	{"a resource without a URI", "resources/list", `{"resources":[{"name":"n"}]}`, `{"resources":[]}`, "entry-left-out: resources[0]"},
	{"a template whose name is null", "resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":null}]}`, `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"a:{b}"}]}`, "missing-member: resourceTemplates[0].name"},
	{"an audience that is a text", "resources/list", `{"resources":[{"uri":"a:b","name":"n","annotations":{"audience":"user","priority":"0.5","lastModified":5}}]}`, `{"resources":[{"uri":"a:b","name":"n","annotations":{"audience":["user"],"priority":0.5,"lastModified":"5"}}]}`, "list-form: resources[0].annotations.audience, member-form: resources[0].annotations.priority and 1 more"},
	{"contents that are no list", "resources/read", `{"contents":{"uri":"a:b","text":"t"}}`, `{"contents":[{"uri":"a:b","text":"t"}]}`, "list-form: contents"},
	{"contents without a URI", "resources/read", `{"contents":[{"text":"t"}]}`, `{"contents":[{"text":"t","uri":"asked:for"}]}`, "missing-member: contents[0].uri"},
	{"contents that are a text", "resources/read", `{"contents":"t"}`, `{"contents":[{"uri":"asked:for","text":"t"}]}`, "block-form: contents, list-form: contents"},
	{"contents with an empty blob", "resources/read", `{"contents":[{"uri":"a:b","text":"t","blob":""}]}`, `{"contents":[{"uri":"a:b","text":"t"}]}`, "member-left-out: contents[0].blob"},
	{"contents with an empty text", "resources/read", `{"contents":[{"uri":"a:b","text":"","blob":"YQ=="}]}`, `{"contents":[{"uri":"a:b","blob":"YQ=="}]}`, "member-left-out: contents[0].text"},
	{"contents that have both, of a picture", "resources/read", `{"contents":[{"uri":"a:b","mimeType":"image/png","text":"t","blob":"YQ=="}]}`, `{"contents":[{"uri":"a:b","mimeType":"image/png","blob":"YQ=="}]}`, "member-left-out: contents[0].text"},
	{"contents that have neither", "resources/read", `{"contents":[{"uri":"a:b"}]}`, `{"contents":[{"uri":"a:b","text":""}]}`, "missing-member: contents[0].text"},
	{"a blob that is no base64, and others", "resources/read", `{"contents":[{"uri":"a:b","blob":"*"},{"uri":"a:c","text":"t"}]}`, `{"contents":[{"uri":"a:c","text":"t"}]}`, "block-left-out: contents[0]"},
	{"a blob without padding", "resources/read", `{"contents":[{"uri":"a:b","blob":"YQ"}]}`, `{"contents":[{"uri":"a:b","blob":"YQ=="}]}`, "base64-form: contents[0].blob"},
	{"contents whose text is an object", "resources/read", `{"contents":[{"uri":"a:b","text":{"x":1}}]}`, `{"contents":[{"uri":"a:b","text":"{\"x\":1}"}]}`, "member-form: contents[0].text"},

	// Content of tools.
	{"a data URL", "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"data:image/png;base64,` + png + `"}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":"` + png + `"}]}`, "base64-form: content[0].data"},
	{"a data URL that is not base64", "tools/call", `{"content":[{"type":"image","mimeType":"image/svg+xml","data":"data:image/svg+xml,%3Csvg/%3E"}]}`, `{"content":[{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zy8+"}]}`, "base64-form: content[0].data"},
	{"the alphabet of URLs", "tools/call", `{"content":[{"type":"audio","mimeType":"audio/wav","data":"-_-_"}]}`, `{"content":[{"type":"audio","mimeType":"audio/wav","data":"+/+/"}]}`, "base64-form: content[0].data"},
	{"lines of MIME", "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"YWJj\r\nZGVm\n"}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":"YWJjZGVm"}]}`, "base64-form: content[0].data"},
	{"no padding", "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"YWI"}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":"YWI="}]}`, "base64-form: content[0].data"},
	{"a Buffer of Node.js", "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":{"type":"Buffer","data":[97,98]}}]}`, `{"content":[{"type":"image","mimeType":"image/png","data":"YWI="}]}`, "base64-form: content[0].data"},
	{"no mimeType, by the first bytes", "tools/call", `{"content":[{"type":"image","data":"` + png + `"}]}`, `{"content":[{"type":"image","data":"` + png + `","mimeType":"image/png"}]}`, "media-type: content[0].mimeType"},
	{"no mimeType, by the data URL", "tools/call", `{"content":[{"type":"audio","data":"data:audio/ogg;base64,YWI="}]}`, `{"content":[{"type":"audio","data":"YWI=","mimeType":"audio/ogg"}]}`, "media-type: content[0].mimeType, base64-form: content[0].data"},
	{"no mimeType, and unknown bytes", "tools/call", `{"content":[{"type":"image","data":"YWI="}]}`, `{"content":[{"type":"image","data":"YWI=","mimeType":"application/octet-stream"}]}`, "media-type: content[0].mimeType"},
	{"data that is no base64", "tools/call", `{"content":[{"type":"text","text":"t"},{"type":"image","mimeType":"image/png","data":"no!"}]}`, `{"content":[{"type":"text","text":"t"},{"type":"text","text":"[a block of type image is left out: its member data is missing or cannot be read]"}]}`, "block-left-out: content[1]"},
	{"a text that is a number", "tools/call", `{"content":[{"type":"text","text":5}]}`, `{"content":[{"type":"text","text":"5"}]}`, "member-form: content[0].text"},
	{"a text that is an object", "tools/call", `{"content":[{"type":"text","text":{"a":[1]}}]}`, `{"content":[{"type":"text","text":"{\"a\":[1]}"}]}`, "member-form: content[0].text"},
	{"no text", "tools/call", `{"content":[{"type":"text"}]}`, `{"content":[{"type":"text","text":""}]}`, "missing-member: content[0].text"},
	{"a text that is null", "tools/call", `{"content":[{"type":"text","text":null}]}`, `{"content":[{"type":"text","text":""}]}`, "missing-member: content[0].text"},
	{"an audience and a priority", "tools/call", `{"content":[{"type":"text","text":"t","annotations":{"audience":"USER","priority":"1"}}]}`, `{"content":[{"type":"text","text":"t","annotations":{"audience":["user"],"priority":1}}]}`, "letter-case: content[0].annotations.audience, list-form: content[0].annotations.audience, member-form: content[0].annotations.priority"},
	{"annotations that are a text", "tools/call", `{"content":[{"type":"text","text":"t","annotations":"x"}]}`, `{"content":[{"type":"text","text":"t"}]}`, "member-left-out: content[0].annotations"},
	{"isError as a text", "tools/call", `{"content":[],"isError":"true"}`, `{"content":[],"isError":true}`, "member-form: isError"},
	{"isError as a number", "tools/call", `{"content":[],"isError":0}`, `{"content":[],"isError":false}`, "member-form: isError"},
	{"isError as a word", "tools/call", `{"content":[],"isError":"no idea"}`, `{"content":[]}`, "member-left-out: isError"},
	{"content that is a text", "tools/call", `{"content":"t"}`, `{"content":[{"type":"text","text":"t"}]}`, "block-form: content, list-form: content"},
	{"content that is one block", "tools/call", `{"content":{"type":"text","text":"t"}}`, `{"content":[{"type":"text","text":"t"}]}`, "list-form: content"},
	{"content that is null", "tools/call", `{"content":null}`, `{"content":[]}`, "list-form: content"},
	{"content of texts and numbers", "tools/call", `{"content":["a",2,true]}`, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"2"},{"type":"text","text":"true"}]}`, "block-form: content[0] and 2 more"},
	{"a text without a type", "tools/call", `{"content":[{"text":"t"}]}`, `{"content":[{"text":"t","type":"text"}]}`, "block-form: content[0].type"},
	{"a picture without a type", "tools/call", `{"content":[{"data":"YWI=","mimeType":"image/png"}]}`, `{"content":[{"data":"YWI=","mimeType":"image/png","type":"image"}]}`, "block-form: content[0].type"},
	{"no type, and no other hint", "tools/call", `{"content":[{"foo":1},{"type":"text","text":"t"}]}`, `{"content":[{"type":"text","text":"[a block of content without a type is left out: it cannot be read]"},{"type":"text","text":"t"}]}`, "block-left-out: content[0]"},
	{"a type in other letters", "tools/call", `{"content":[{"type":"Text","text":"t"}]}`, `{"content":[{"text":"t","type":"text"}]}`, "letter-case: content[0].type"},
	{"an unknown type next to an odd block", "tools/call", `{"content":[{"type":"video","data":5},"t"]}`, `{"content":[{"type":"video","data":5},{"type":"text","text":"t"}]}`, "block-form: content[1]"},
	{"an embedded resource with both", "tools/call", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t","blob":null}}]}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t"}}]}`, "null-member: content[0].resource.blob"},
	{"an embedded resource without its own", "tools/call", `{"content":[{"type":"resource"}]}`, `{"content":[{"type":"text","text":"[a block of type resource is left out: its member resource is missing or cannot be read]"}]}`, "block-left-out: content[0]"},
	{"a link without a name", "tools/call", `{"content":[{"type":"resource_link","uri":"a:b","size":"5"}]}`, `{"content":[{"type":"resource_link","uri":"a:b","size":5,"name":"a:b"}]}`, "missing-member: content[0].name, member-form: content[0].size"},
	{"_meta that is a text", "tools/call", `{"content":[],"_meta":"x"}`, `{"content":[]}`, "member-left-out: _meta"},

	// Around results.
	{"ttlMs as a text", "tools/list", `{"tools":[],"ttlMs":"1500"}`, `{"tools":[],"ttlMs":1500}`, "member-form: ttlMs"},
	{"a scope in other letters", "tools/list", `{"tools":[],"cacheScope":"PRIVATE"}`, `{"tools":[],"cacheScope":"private"}`, "letter-case: cacheScope"},
	{"an unknown scope", "tools/list", `{"tools":[],"cacheScope":"mine"}`, `{"tools":[]}`, "member-left-out: cacheScope"},
	{"a result type in other letters", "tools/list", `{"tools":[],"resultType":"Complete"}`, `{"tools":[],"resultType":"complete"}`, "result-type: resultType"},
	{"a result type that is null", "tools/list", `{"tools":[],"resultType":null}`, `{"tools":[]}`, "null-member: resultType"},
	{"a result of PHP", "ping", `[]`, `{}`, "member-form: "},

	// The handshake.
	{"capabilities that are true", "initialize", `{"capabilities":{"tools":true,"prompts":null,"resources":[],"logging":false}}`, `{"capabilities":{"tools":{},"resources":{}}}`, "member-form: capabilities.tools and 1 more, null-member: capabilities.prompts, member-left-out: capabilities.logging"},
	{"capabilities that are names", "initialize", `{"capabilities":["tools","prompts"]}`, `{"capabilities":{"tools":{},"prompts":{}}}`, "member-form: capabilities"},
	{"capabilities of PHP", "initialize", `{"capabilities":[]}`, `{"capabilities":{}}`, "member-form: capabilities"},
	{"listChanged as a text", "server/discover", `{"supportedVersions":"x","capabilities":{"tools":{"listChanged":"yes"}}}`, `{"supportedVersions":["x"],"capabilities":{"tools":{}}}`, "list-form: supportedVersions, member-left-out: capabilities.tools.listChanged"},
	{"a server that is a text", "initialize", `{"serverInfo":"old"}`, `{"serverInfo":{"name":"old","version":""}}`, "member-form: serverInfo"},
	{"a server without a version", "initialize", `{"serverInfo":{"name":"old"}}`, `{"serverInfo":{"name":"old","version":""}}`, "missing-member: serverInfo.version"},
	{"a version that is a number", "initialize", `{"serverInfo":{"name":"old","version":1.2}}`, `{"serverInfo":{"name":"old","version":"1.2"}}`, "member-form: serverInfo.version"},
	{"a server without a name", "initialize", `{"serverInfo":{"version":"1"}}`, `{}`, "member-left-out: serverInfo"},
	{"instructions that are an array", "initialize", `{"instructions":["a"],"capabilities":{}}`, `{"capabilities":{}}`, "member-left-out: instructions"},

	// Completion.
	{"values that are numbers", "completion/complete", `{"completion":{"values":[1,"b"],"total":"2","hasMore":"false"}}`, `{"completion":{"values":["1","b"],"total":2,"hasMore":false}}`, "member-form: completion.values[0] and 2 more"},
	{"a value that is null, and one that is an object", "completion/complete", `{"completion":{"values":[null,{},"b"]}}`, `{"completion":{"values":["b"]}}`, "member-left-out: completion.values[0] and 1 more"},
	{"no values", "completion/complete", `{"completion":{"values":null}}`, `{"completion":{"values":[]}}`, "list-form: completion.values"},

	// Notifications and requests.
	{"progress as texts", "notifications/progress", `{"progressToken":"5","progress":"0.5","total":"2","message":7}`, `{"progressToken":5,"progress":0.5,"total":2,"message":"7"}`, "member-form: progressToken and 3 more"},
	{"a total that is no number", "notifications/progress", `{"progressToken":5,"progress":1,"total":"many"}`, `{"progressToken":5,"progress":1}`, "member-left-out: total"},
	{"progress that is a word", "notifications/progress", `{"progressToken":5,"progress":"half"}`, ``, ""},
	{"a level in other letters", "notifications/message", `{"level":"INFO","data":"x"}`, `{"level":"info","data":"x"}`, "letter-case: level"},
	{"a level of syslog", "notifications/message", `{"level":"warn","data":"x"}`, `{"level":"warning","data":"x"}`, "letter-case: level"},
	{"an unknown level", "notifications/message", `{"level":"trace","data":"x"}`, `{"data":"x","level":"info"}`, "level-unknown: level"},
	{"a message without data", "notifications/message", `{"level":"info","logger":5}`, `{"level":"info","logger":"5","data":null}`, "member-form: logger, missing-member: data"},
	{"an update without a URI", "notifications/resources/updated", `{"uri":5}`, `{"uri":"5"}`, "member-form: uri"},
	{"a sample", "sampling/createMessage", `{"messages":[{"role":"USER","content":{"type":"text","text":"t"}}],"maxTokens":"100","temperature":"0.5"}`, `{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":100,"temperature":0.5}`, "letter-case: messages[0].role, member-form: maxTokens and 1 more"},
	{"a form of PHP", "elicitation/create", `{"message":5,"requestedSchema":{"type":"object","properties":[]}}`, `{"message":"5","requestedSchema":{"type":"object","properties":{}}}`, "member-form: message and 1 more"},
}

func isSent(method string) bool { return sent[method] != nil }

func TestMend(t *testing.T) {
	for _, tt := range odd {
		t.Run(tt.method+"/"+tt.name, func(t *testing.T) {
			got, named := mendOne(t, tt.method, tt.in)
			if got != tt.want || named != tt.named {
				t.Errorf("got   %s\nwant  %s\nnamed %s\nwant  %s", got, tt.want, named, tt.named)
			}
			if got == "" {
				return
			}
			if again, more := mendOne(t, tt.method, got); again != got || more != "" {
				t.Errorf("mended again: %s, named %s", again, more)
			}
		})
	}
}

// mendOne mends a message like a connection does.
func mendOne(t *testing.T, method, in string) (mended, named string) {
	t.Helper()
	var found []Found
	out, ok := []byte(in), true
	switch members, fault := jsonrpc.Index([]byte(in), jsonrpc.Limits{}); {
	case isSent(method):
		if !FitsParams(method, out) {
			out, found, ok = MendParams(method, out)
		}
	case fault != nil || !Fits(method, &members):
		out, found = Mend(method, "asked:for", out)
	}
	if !ok {
		return "", ""
	}
	if fault := jsonrpc.Valid(out, jsonrpc.Limits{}); fault != nil {
		t.Errorf("%s is no JSON: %v", out, fault)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Tolerance.Name()+": "+f.String())
	}
	return string(out), strings.Join(names, ", ")
}

// TestStrictFits checks messages in the form of schema.ts: no change and no allocation.
func TestStrictFits(t *testing.T) {
	for method, in := range map[string]string{
		"tools/list":            `{"tools":[{"name":"a","title":"t","inputSchema":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]},"annotations":{"readOnlyHint":true},"x-own":null}],"nextCursor":"","ttlMs":5,"cacheScope":"public"}`,
		"tools/call":            `{"content":[{"type":"text","text":"a\"b"},{"type":"image","data":"YWJj","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"a/b"},{"type":"resource","resource":{"uri":"a:b","blob":"YWI="}},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"video","frames":[1]}],"structuredContent":null,"isError":false}`,
		"prompts/get":           `{"messages":[{"role":"assistant","content":{"type":"text","text":""}}]}`,
		"resources/read":        `{"contents":[{"uri":"a:b","text":""},{"uri":"a:b","blob":"iVBO\/w=="}]}`,
		"initialize":            `{"protocolVersion":"x","capabilities":{"tools":{"listChanged":true},"experimental":{"a":1}},"serverInfo":{"name":"a","version":"1"}}`,
		"completion/complete":   `{"completion":{"values":["a"],"total":1,"hasMore":true}}`,
		"example.com/own":       `{"a":null}`,
		"notifications/message": `{"level":"debug","data":null}`,
	} {
		got, named := mendOne(t, method, in)
		if got != in || named != "" {
			t.Errorf("%s: got %s, named %s", method, got, named)
		}
		members, fault := jsonrpc.Index([]byte(in), jsonrpc.Limits{})
		if fault != nil {
			t.Fatal(fault)
		}
		raw := []byte(in)
		if strings.Contains(in, `\/`) {
			continue // unescaping allocates
		}
		if n := testing.AllocsPerRun(10, func() { _ = Fits(method, &members) && FitsParams(method, raw) }); n != 0 {
			t.Errorf("%s: %v allocations", method, n)
		}
	}
}

func TestIsBase64(t *testing.T) {
	for c := range 256 {
		for at := range 48 {
			text := []byte(strings.Repeat("A", 48))
			text[at] = byte(c)
			_, err := base64.StdEncoding.DecodeString(string(text))
			if want := err == nil && c != '\n' && c != '\r'; isBase64(text) != want {
				t.Fatalf("%q: %v, want %v", text, !want, want)
			}
		}
	}
	for text, want := range map[string]bool{"": true, "A": false, "AA": false, "AA==": true, "AAA=": true, "A===": false, "====": false, "AA=A": false, "AAAAAAA=AAAA": false} {
		if isBase64([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func FuzzMend(f *testing.F) {
	for _, tt := range odd {
		f.Add(tt.method, tt.in)
	}
	f.Fuzz(func(t *testing.T, method, in string) {
		members, fault := jsonrpc.Index([]byte(in), jsonrpc.Limits{})
		switch {
		case isSent(method) && fault == nil:
			if out, _, ok := MendParams(method, []byte(in)); ok && !FitsParams(method, out) {
				t.Errorf("%s became %s, which does not fit", in, out)
			}
		case results[method] != nil && fault == nil && !Fits(method, &members):
			out, _ := Mend(method, "", []byte(in))
			if jsonrpc.Valid(out, jsonrpc.Limits{}) != nil {
				t.Errorf("%s became %s", in, out)
			}
		}
	})
}

func BenchmarkFits(b *testing.B) {
	for name, in := range map[string]string{
		"text of 5 bytes": `{"content":[{"type":"text","text":"hello"}]}`,
		"image of 1 MiB":  `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AbCd", 1<<18) + `"}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			members, _ := jsonrpc.Index([]byte(in), jsonrpc.Limits{})
			b.ReportAllocs()
			for b.Loop() {
				if !Fits("tools/call", &members) {
					b.Fatal("it does not fit")
				}
			}
		})
	}
}
