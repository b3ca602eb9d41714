package openapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
)

func TestMediaRangesOfBodies(t *testing.T) {
	const object, text, file = `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"type":"string"}`, `{"type":"string","format":"binary"}`
	for _, test := range []struct{ media, schema, argument, sent string }{
		{"*/*", object, `{"a":1}`, "Content-Type: application/json\n{\"a\":1}"},
		{"*/*", `{"$ref":"#/components/schemas/A"}`, `{"a":1}`, "Content-Type: application/json\n{\"a\":1}"},
		{"*/*", `{"type":"array","items":{}}`, `[1]`, "Content-Type: application/json\n[1]"},
		{"*/*", text, `"a"`, "Content-Type: text/plain\na"},
		{"*/*", file, `"YQ=="`, "Content-Type: application/octet-stream\na"},
		{"*/*", `{}`, `"YQ=="`, "Content-Type: application/octet-stream\na"},
		{"application/*", object, `{"a":1}`, "Content-Type: application/json\n{\"a\":1}"},
		{"application/*+json", object, `{"a":1}`, "Content-Type: application/json\n{\"a\":1}"},
		{"text/*", text, `"a"`, "Content-Type: text/plain\na"},
		{"image/*", file, `"YQ=="`, "Content-Type: application/octet-stream\na"},
	} {
		_, client := serve(t, documentOf("3.0.3", `{"/x":{"post":{"operationId":"op","requestBody":{"content":{"`+test.media+`":{"schema":`+test.schema+`}}}}}}`, `,"components":{"schemas":{"A":`+object+`}}`), nil, Options{})
		got := call(t, client, "op", `{"body":`+test.argument+`}`).Text()
		if want := "POST /v1/x\n" + test.sent; got != want {
			t.Errorf("%s of %s: got %q, want %q", test.media, test.schema, got, want)
		}
	}
}

func TestPlaceholdersOfRouters(t *testing.T) {
	for _, test := range []struct{ path, name, value, want string }{
		{"/a/{id:[0-9]{3}}/b", "id", "123", "GET /v1/a/123/b"},
		{"/a/{id:[0-9]+}", "id", "1/2", "GET /v1/a/1%2F2"},
		{"/a/{proxy+}", "proxy", "1/2", "GET /v1/a/1/2"},
		{"/a/{+name}", "name", "1/2", "GET /v1/a/1/2"},
		{"/a/{name*}", "name", "1/2", "GET /v1/a/1/2"},
		{"/a/{p:path}", "p", "1/2", "GET /v1/a/1/2"},
		{"/a/{p:.*}", "p", "1/2", "GET /v1/a/1/2"},
		{"/a/{x+y}", "x+y", "1", "GET /v1/a/1"},
	} {
		_, client := serve(t, documentOf("3.0.3", `{"`+test.path+`":{"get":{"operationId":"op","parameters":[{"name":"`+test.name+`","in":"path","required":true,"schema":{"type":"string"}}]}}}`, ""), nil, Options{})
		for name := range toolsOf(t, client) {
			argument := strings.NewReplacer("+", "_").Replace(test.name)
			if got := call(t, client, name, `{"`+argument+`":"`+test.value+`"}`).Text(); got != test.want {
				t.Errorf("%s: got %q, want %q", test.path, got, test.want)
			}
		}
	}
}

func TestEnumOfStringsWithoutQuotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yaml")
	api := httptest.NewServer(http.HandlerFunc(echo))
	defer api.Close()
	document := "openapi: 3.0.3\ninfo: {title: T, version: 1}\nservers: [{url: '" + api.URL + "'}]\npaths:\n  /x:\n    get:\n      operationId: op\n      parameters:\n        - {name: v, in: query, schema: {type: string, enum: [1.10, 2, true]}}\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{From: file})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if schema := string(toolsOf(t, mcp.NewClient(s.Server))["op"].InputSchema); !strings.Contains(schema, `"enum":["1.10","2","true"]`) {
		t.Errorf("got %s", schema)
	}
	if got := call(t, mcp.NewClient(s.Server), "op", `{"v":"1.10"}`).Text(); got != "GET /x?v=1.10" {
		t.Errorf("got %q", got)
	}
}

func TestSchemesNamedBearerAndBasic(t *testing.T) {
	const paths = `{"/token":{"get":{"operationId":"token","security":[{"bearer":[]}]}},"/login":{"get":{"operationId":"login","security":[{"basic":[]}]}},"/open":{"get":{"operationId":"open","security":[]}}}`
	const schemes = `,"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer"},"basic":{"type":"http","scheme":"basic"}}}`
	for _, test := range []struct {
		more                string
		secrets             map[string]string
		token, login, open_ string
	}{
		{schemes, map[string]string{"bearer": "t-123456", "basic": "joe:s-123456"}, "Bearer t-123456", "Basic am9lOnMtMTIzNDU2", ""},
		{schemes, map[string]string{"basic": "joe:s-123456"}, "", "Basic am9lOnMtMTIzNDU2", ""},
		{``, map[string]string{"bearer": "t-123456"}, "Bearer t-123456", "Bearer t-123456", "Bearer t-123456"},
	} {
		seen := ""
		_, client := serve(t, documentOf("3.0.3", paths, test.more), func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") }, Options{Secrets: test.secrets})
		for tool, want := range map[string]string{"token": test.token, "login": test.login, "open": test.open_} {
			if call(t, client, tool, `{}`); seen != want {
				t.Errorf("%v: %s: the API got %q, want %q", test.secrets, tool, seen, want)
			}
		}
	}
}

func TestDocumentOfTheInternetLeadsNotInside(t *testing.T) {
	const from = "https://docs.example.com/api.json"
	for _, host := range []string{"LOCALHOST", "localhost.", "api.localhost", "db", "printer.local", "127.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "100.64.0.1", "168.63.129.16", "ｌｏｃａｌｈｏｓｔ", "metadata.google.internal"} {
		web := texts{from: strings.ReplaceAll(documentOf("3.1.0", `{"/x":{"get":{}}}`, ""), "SERVER", "http://"+host+":9200/v1")}
		if s, err := Open(t.Context(), Options{From: from, Requests: httptool.Options{Transport: web}}); err == nil || !strings.Contains(err.Error(), "if that is right, set a base URL") {
			t.Errorf("%s: got %v", host, err)
			if err == nil {
				s.Close()
			}
		}
	}
}

func TestDocumentWithoutOperations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(documentOf("3.0.1", `{"/x":{"description":"later"}}`, ""), "SERVER", "https://api.example")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{From: file}); err == nil || !strings.HasSuffix(err.Error(), "it has no operation that can be a tool") {
		t.Errorf("got %v", err)
	}
}
