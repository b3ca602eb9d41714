package redact

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

func TestPlacesAreHidden(t *testing.T) {
	const data = `{"user":{"email":"a@b","name":"A"},"items":[{"price":1,"n":[1,2]},{"price":2}],"a/b":{"c~d":true},"":1}`
	for _, test := range []struct{ paths, want string }{
		{"/user/email", `{"user":{"email":"***","name":"A"},"items":[{"price":1,"n":[1,2]},{"price":2}],"a/b":{"c~d":true},"":1}`},
		{"/user", `{"user":"***","items":[{"price":1,"n":[1,2]},{"price":2}],"a/b":{"c~d":true},"":1}`},
		{"/items/*/price", `{"user":{"email":"a@b","name":"A"},"items":[{"price":"***","n":[1,2]},{"price":"***"}],"a/b":{"c~d":true},"":1}`},
		{"/items/1 /items/0/n/0", `{"user":{"email":"a@b","name":"A"},"items":[{"price":1,"n":["***",2]},"***"],"a/b":{"c~d":true},"":1}`},
		{"/a~1b/c~0d", `{"user":{"email":"a@b","name":"A"},"items":[{"price":1,"n":[1,2]},{"price":2}],"a/b":{"c~d":"***"},"":1}`},
		{"/*/email", `{"user":{"email":"***","name":"A"},"items":[{"price":1,"n":[1,2]},{"price":2}],"a/b":{"c~d":true},"":1}`},
		{"/*", `{"user":"***","items":"***","a/b":"***","":"***"}`},
		{"/user/email/x /nothing", data},
	} {
		p, err := Parse(strings.Fields(test.paths)...)
		if err != nil {
			t.Errorf("%s: %v", test.paths, err)
			continue
		}
		if got := p.Hide([]byte(data)); string(got) != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.paths, got, test.want)
		}
	}
	for _, path := range []string{"", "/", "/a~2", "~", "user", "*", "items.*.price"} {
		if _, err := Parse(path); err == nil || !strings.Contains(err.Error(), `"`+path+`"`) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, value := range []string{`1`, `"x"`, `null`, `{}`, `[]`} {
		if p, _ := Parse("/*", "/a/b"); string(p.Hide([]byte(value))) != value {
			t.Errorf("%s became %s", value, p.Hide([]byte(value)))
		}
	}
}

func TestRedactedValuesReachNeitherServersNorClients(t *testing.T) {
	var got string
	served := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		got = string(req.Arguments)
		body := map[string]string{
			"tools/list":     `{"tools":[{"name":"find","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},{"name":"other","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],"nextCursor":"x"}`,
			"tools/call":     `{"content":[{"type":"text","text":" {\"email\":\"a@b\", \"n\":1}"},{"type":"text","text":"email: a@b"},{"type":"resource","resource":{"uri":"a:b","text":"[{\"email\":1}]"}},{"type":"text","text":"{ \"n\" : 1 }"}],"structuredContent":{"email":"a@b","n":1},"isError":false}`,
			"resources/read": `{"contents":[{"uri":"a:b","text":"{\"email\":\"a@b\",\"m\":1}"}]}`,
			"prompts/get":    `{"messages":[]}`,
		}[req.Method]
		return mcp.Result{JSON: json.RawMessage(body), Meta: json.RawMessage(`{"email":"a@b"}`)}, nil
	})
	parse := func(paths ...string) Paths {
		p, err := Parse(paths...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	h := Middleware(Options{All: Places{Arguments: parse("/key")}, Tools: map[string]Places{"find": {Arguments: parse("/deep/*"), Results: parse("/email", "/*/email")}}})(served)
	ask := func(h mcp.Handler, method, params string) string {
		result, err := h.Handle(t.Context(), mcp.NewRequest(method, []byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := result.Encoded()
		if method == "tools/call" && strings.Contains(string(body), `***`) != (string(result.Meta) == `{"email":"***"}`) {
			t.Errorf("with %s the metadata is %s", body, result.Meta)
		}
		if err != nil || jsonrpc.Valid(body, jsonrpc.Limits{}) != nil {
			t.Fatalf("%s %v", body, err)
		}
		return string(body)
	}
	result := ask(h, "tools/call", `{"name":"find","arguments":{"key":"k","deep":{"a":1},"n":1}}`)
	if got != `{"key":"***","deep":{"a":"***"},"n":1}` {
		t.Errorf("the server got %s", got)
	}
	if want := `{"content":[{"type":"text","text":"{\"email\":\"***\",\"n\":1}"},{"type":"text","text":"email: a@b"},{"type":"resource","resource":{"uri":"a:b","text":"[{\"email\":\"***\"}]"}},{"type":"text","text":"{ \"n\" : 1 }"}],"structuredContent":{"email":"***","n":1},"isError":false}`; result != want {
		t.Errorf("the client got\n%s\nwant\n%s", result, want)
	}
	if result := ask(h, "tools/call", `{"name":"other","arguments":{"key":"k","deep":{"a":1}}}`); got != `{"key":"***","deep":{"a":1}}` || !strings.Contains(result, `"email":"a@b"`) {
		t.Errorf("the server got %s, the client %s", got, result)
	}
	if ask(h, "tools/call", `{"name":"other"}`); got != "" {
		t.Errorf("the server got %s", got)
	}
	if list := ask(h, "tools/list", `{}`); list != `{"nextCursor":"x","tools":[{"name":"find","inputSchema":{"type":"object"}},{"name":"other","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}` {
		t.Errorf("the list is %s", list)
	}
	all := Middleware(Options{All: Places{Results: parse("/email")}})(served)
	if read := ask(all, "resources/read", `{"uri":"a:b"}`); read != `{"contents":[{"uri":"a:b","text":"{\"email\":\"***\",\"m\":1}"}]}` {
		t.Errorf("a resource is %s", read)
	}
	if prompt := ask(all, "prompts/get", `{"name":"x"}`); prompt != `{"messages":[]}` {
		t.Errorf("a prompt is %s", prompt)
	}
}
