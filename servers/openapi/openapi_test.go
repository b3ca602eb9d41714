package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/servers/httptool"
)

// documentOf returns a document with paths and with more members after them.
func documentOf(version, paths, more string) string {
	return `{"openapi":"` + version + `","info":{"title":"Test API","version":"2.1"},"servers":[{"url":"SERVER"}],"paths":` + paths + more + `}`
}

// serve writes a document to a file and opens it for an API.
func serve(t *testing.T, document string, api http.HandlerFunc, o Options) (*Server, *mcp.Client) {
	t.Helper()
	if api == nil {
		api = echo
	}
	backend := httptest.NewServer(api)
	t.Cleanup(backend.Close)
	o.From = filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(o.From, []byte(strings.ReplaceAll(document, "SERVER", backend.URL+"/v1")), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Requests.Logger = slog.New(slog.DiscardHandler)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(s)
	t.Cleanup(func() { c.Close(); s.Close() })
	return s, c
}

// echo responds with the request, without the usual headers.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s", r.Method, r.RequestURI)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !slices.Contains([]string{"Accept", "User-Agent", "Accept-Encoding", "Content-Length"}, name) {
			fmt.Fprintf(w, "\n%s: %s", name, strings.Join(r.Header[name], " | "))
		}
	}
	if len(body) > 0 {
		fmt.Fprintf(w, "\n%s", body)
	}
}

func call(t *testing.T, c *mcp.Client, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func toolsOf(t *testing.T, c *mcp.Client) map[string]mcp.Tool {
	t.Helper()
	all := map[string]mcp.Tool{}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[tool.Name] = *tool
	}
	return all
}

func TestParametersAreWrittenInTheirStyles(t *testing.T) {
	const object, list = `{"R":100,"G":"a b"}`, `["blue","a,b/c"]`
	for name, c := range map[string]struct{ path, parameter, value, want string }{
		"path simple text":          {"/{p}", `"in":"path"`, `"a/b c"`, "/a%2Fb%20c"},
		"path simple list":          {"/{p}", `"in":"path"`, list, "/blue,a%2Cb%2Fc"},
		"path simple object":        {"/{p}", `"in":"path"`, object, "/R,100,G,a%20b"},
		"path simple object apart":  {"/{p}", `"in":"path","explode":true`, object, "/R=100,G=a%20b"},
		"path label text":           {"/{p}", `"in":"path","style":"label"`, `"a.b"`, "/.a.b"},
		"path label list":           {"/{p}", `"in":"path","style":"label"`, `[1,2]`, "/.1,2"},
		"path label list apart":     {"/{p}", `"in":"path","style":"label","explode":true`, `[1,2]`, "/.1.2"},
		"path label object apart":   {"/{p}", `"in":"path","style":"label","explode":true`, object, "/.R=100.G=a%20b"},
		"path matrix text":          {"/{p}", `"in":"path","style":"matrix"`, `"a;b"`, "/;p=a%3Bb"},
		"path matrix list":          {"/{p}", `"in":"path","style":"matrix"`, `[1,2]`, "/;p=1,2"},
		"path matrix list apart":    {"/{p}", `"in":"path","style":"matrix","explode":true`, `[1,2]`, "/;p=1;p=2"},
		"path matrix object apart":  {"/{p}", `"in":"path","style":"matrix","explode":true`, object, "/;R=100;G=a%20b"},
		"path with several parts":   {"/{p}/x", `"in":"path","x-multi-segment":true`, `"docs/a b.md"`, "/docs/a%20b.md/x"},
		"path up is refused":        {"/{p}/x", `"in":"path"`, `".."`, `path /{p}/x: ".." means another path`},
		"path up within is refused": {"/{p}/x", `"in":"path","x-multi-segment":true`, `"a/../b"`, `path /{p}/x: ".." means another path`},
		"path empty is refused":     {"/{p}/x", `"in":"path"`, `""`, `path /{p}/x: it is empty, which a path cannot have`},
		"query form text":           {"/", `"in":"query"`, `"a&b=c #"`, "/?p=a%26b%3Dc%20%23"},
		"query form number":         {"/", `"in":"query"`, `1.50`, "/?p=1.50"},
		"query form list":           {"/", `"in":"query"`, list, "/?p=blue&p=a%2Cb%2Fc"},
		"query form list in one":    {"/", `"in":"query","explode":false`, list, "/?p=blue,a%2Cb%2Fc"},
		"query form object":         {"/", `"in":"query"`, object, "/?R=100&G=a%20b"},
		"query form object in one":  {"/", `"in":"query","explode":false`, object, "/?p=R,100,G,a%20b"},
		"query form empty list":     {"/", `"in":"query"`, `[]`, "/"},
		"query form null":           {"/", `"in":"query"`, `null`, "/"},
		"query form nested":         {"/", `"in":"query"`, `[[1]]`, "p: p: an object or a list within another cannot be written in this place"},
		"query space":               {"/", `"in":"query","style":"spaceDelimited","explode":false`, list, "/?p=blue%20a%2Cb%2Fc"},
		"query pipe":                {"/", `"in":"query","style":"pipeDelimited","explode":false`, list, "/?p=blue%7Ca%2Cb%2Fc"},
		"query deep":                {"/", `"in":"query","style":"deepObject","explode":true`, `{"a":{"b":[1,{"c":"x&y"}]}}`, "/?p[a][b][0]=1&p[a][b][1][c]=x%26y"},
		"query reserved":            {"/", `"in":"query","allowReserved":true`, `"a/b?c&d=e#f+g"`, "/?p=a/b?c%26d%3De%23f%2Bg"},
		"query as JSON":             {"/", `"in":"query","content":{"application/json":{}}`, `{"a":"&"}`, "/?p=%7B%22a%22%3A%22%26%22%7D"},
		"query of the path":         {"/x?action=list#part", `"in":"query"`, `1`, "/x?action=list&p=1"},
		"header text":               {"/", `"in":"header"`, `"a b"`, "/\nP: a b"},
		"header list":               {"/", `"in":"header"`, `[1,"b"]`, "/\nP: 1,b"},
		"header object apart":       {"/", `"in":"header","explode":true`, object, "/\nP: R=100,G=a b"},
		"header of two lines":       {"/", `"in":"header"`, `"a\nX: y"`, "p: a header cannot have a line end or another control character"},
		"cookie text":               {"/", `"in":"cookie"`, `"a; b=c"`, "/\nCookie: p=a%3B%20b%3Dc"},
	} {
		t.Run(name, func(t *testing.T) {
			document := documentOf("3.0.3", `{"`+c.path+`":{"get":{"operationId":"op","parameters":[{"name":"p",`+c.parameter+`,"schema":{}}]}}}`, "")
			_, client := serve(t, document, nil, Options{})
			want := c.want
			if strings.HasPrefix(want, "/") {
				want = "GET /v1" + want
			}
			if got := call(t, client, "op", `{"p":`+c.value+`}`); got.Text() != want {
				t.Errorf("got %q, want %q", got.Text(), want)
			}
		})
	}
}

func TestBodiesAreWrittenAsTheirType(t *testing.T) {
	for name, c := range map[string]struct{ content, value, want string }{
		"JSON":                   {`"text/plain":{},"application/json":{}`, `{"a":[1.0]}`, "Content-Type: application/json\n{\"a\":[1.0]}"},
		"a kind of JSON":         {`"application/vnd.x+json":{}`, `1`, "Content-Type: application/vnd.x+json\n1"},
		"form":                   {`"application/x-www-form-urlencoded":{}`, `{"a":"b&c","l":[1,2],"o":{"k":1}}`, "Content-Type: application/x-www-form-urlencoded\na=b%26c&l=1&l=2&o=%7B%22k%22%3A1%7D"},
		"form with styles":       {`"application/x-www-form-urlencoded":{"encoding":{"o":{"style":"deepObject"},"l":{"style":"form","explode":false}}}`, `{"o":{"k":[{"x":1}]},"l":[1,2]}`, "Content-Type: application/x-www-form-urlencoded\no[k][0][x]=1&l=1,2"},
		"text":                   {`"text/markdown":{}`, `"# a"`, "Content-Type: text/markdown\n# a"},
		"bytes":                  {`"application/octet-stream":{}`, `"AGE="`, "Content-Type: application/octet-stream\n\x00a"},
		"bytes that are not":     {`"application/octet-stream":{}`, `"%"`, "body: expected base64: illegal base64 data at input byte 0"},
		"a form that is no form": {`"application/x-www-form-urlencoded":{}`, `[1]`, "body: expected an object"},
	} {
		t.Run(name, func(t *testing.T) {
			document := documentOf("3.0.3", `{"/x":{"post":{"operationId":"op","requestBody":{"content":{`+c.content+`}}}}}`, "")
			_, client := serve(t, document, nil, Options{})
			want := strings.Replace(c.want, "Content-Type", "POST /v1/x\nContent-Type", 1)
			got := call(t, client, "op", `{"body":`+c.value+`}`)
			text := got.Text()
			if len(got.Content) > 0 && got.Content[len(got.Content)-1].Link != nil { // stored bytes
				read, err := client.ReadResource(t.Context(), got.Content[len(got.Content)-1].Link.URI)
				if err != nil {
					t.Fatal(err)
				}
				text = string(read.Contents[0].Blob)
			}
			if text != want {
				t.Errorf("got %q, want %q", text, want)
			}
		})
	}
}

func TestAMultipartBodyHasFilesAndParts(t *testing.T) {
	document := documentOf("3.1.0", `{"/x":{"post":{"operationId":"op","requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/Up"},"encoding":{"pic":{"contentType":"image/png, image/jpeg"}}}}}}}}`,
		`,"components":{"schemas":{"Up":{"type":"object","properties":{"pic":{"type":"string","format":"binary"},"docs":{"type":"array","items":{"type":"string","contentEncoding":"base64"}},"meta":{"type":"object"},"n\"":{"type":"integer"}}}}}`)
	_, client := serve(t, document, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
		}
		for _, name := range slices.Sorted(maps.Keys(r.MultipartForm.File)) {
			for _, h := range r.MultipartForm.File[name] {
				f, _ := h.Open()
				data, _ := io.ReadAll(f)
				fmt.Fprintf(w, "%s %s %s %q\n", name, h.Filename, h.Header.Get("Content-Type"), data)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.MultipartForm.Value)) {
			fmt.Fprintf(w, "%s %q\n", name, r.MultipartForm.Value[name])
		}
	}, Options{})
	got := call(t, client, "op", `{"body":{"pic":"AAE=","docs":["YQ","Yg=="],"meta":{"a":1},"n\"":7}}`).Text()
	want := "docs docs application/octet-stream \"a\"\ndocs docs application/octet-stream \"b\"\npic pic image/png \"\\x00\\x01\"\nmeta [\"{\\\"a\\\":1}\"]\nn%22 [\"7\"]\n"
	if got != want {
		t.Errorf("got %q", got)
	}
	if schema := string(toolsOf(t, client)["op"].InputSchema); !strings.Contains(schema, `"contentEncoding":"base64"`) || !strings.Contains(schema, "in base64") {
		t.Errorf("the schema does not say how files are given: %s", schema)
	}
}

func TestNamesFitAndAreUnique(t *testing.T) {
	long := strings.Repeat("x", 80)
	document := documentOf("3.0.3", `{"/a":{"get":{"operationId":"repos/get"},"put":{"operationId":"repos get"},"post":{"operationId":"`+long+`"}},
		"/pets/{id}/toys":{"parameters":[{"name":"id","in":"path"}],"get":{},"delete":{"operationId":"9 lives"}},"/ü":{"get":{"operationId":"üü"}}}`, "")
	_, client := serve(t, document, nil, Options{})
	names := slices.Sorted(maps.Keys(toolsOf(t, client)))
	want := []string{"_", "_9_lives", "get_pets_id_toys", "repos_get_", "repos_get_", "x"}
	if len(names) != len(want) {
		t.Fatalf("got %q", names)
	}
	for i, name := range names {
		if !strings.HasPrefix(name, want[i]) || len(name) > 64 {
			t.Errorf("got %q, want %q", name, want[i])
		}
	}
}

func TestParametersOfOneNameGetNamesOfTheirOwn(t *testing.T) {
	document := documentOf("3.0.3", `{"/x/{id}":{"post":{"operationId":"op","parameters":[
		{"name":"id","in":"cookie"},{"name":"id","in":"header"},{"name":"id","in":"query"},{"name":"id","in":"path"},
		{"name":"body","in":"query"},{"name":"filter[a]","in":"query"},{"name":"Accept","in":"header"},{"name":"Authorization","in":"header"}],
		"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}`, "")
	_, client := serve(t, document, nil, Options{})
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(toolsOf(t, client)["op"].InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(schema.Properties)), []string{"body", "cookie_id", "filter_a", "header_id", "id", "query_body", "query_id"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(schema.Required, []string{"id"}) {
		t.Errorf("required: %q", schema.Required)
	}
	got := call(t, client, "op", `{"id":1,"query_id":2,"header_id":3,"cookie_id":4,"query_body":5,"filter_a":6,"body":{}}`).Text()
	if want := "POST /v1/x/1?id=2&body=5&filter%5Ba%5D=6\nContent-Type: application/json\nCookie: id=4\nId: 3\n{}"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestSelectionPicksOperations(t *testing.T) {
	document := documentOf("3.0.3", `{"/repos/{o}/issues":{"parameters":[{"name":"o","in":"path"}],"get":{"operationId":"issues/list","tags":["issues"]},"post":{"operationId":"issues/create","tags":["issues"]}},
		"/repos/{o}":{"parameters":[{"name":"o","in":"path"}],"get":{"operationId":"repos/get","tags":["repos"]},"delete":{"operationId":"repos/delete","tags":["repos"]}},"/user":{"get":{"operationId":"user"}}}`, "")
	for name, c := range map[string]struct {
		in, out Selection
		want    string
	}{
		"all":                      {want: "issues_create issues_list repos_delete repos_get user"},
		"a tag":                    {in: Selection{Tags: []string{"issues"}}, want: "issues_create issues_list"},
		"a path":                   {in: Selection{Paths: []string{"/repos/*"}}, want: "repos_delete repos_get"},
		"all paths below":          {in: Selection{Paths: []string{"/repos/**"}}, want: "issues_create issues_list repos_delete repos_get"},
		"a path as it is":          {in: Selection{Paths: []string{"/repos/{o}/issues"}}, want: "issues_create issues_list"},
		"an operation":             {in: Selection{Operations: []string{"issues/*"}}, want: "issues_create issues_list"},
		"a tool":                   {in: Selection{Operations: []string{"repos_get", "user"}}, want: "repos_get user"},
		"a method of a tag":        {in: Selection{Tags: []string{"issues"}, Methods: []string{"get"}}, want: "issues_list"},
		"all but a method":         {out: Selection{Methods: []string{"DELETE", "POST"}}, want: "issues_list repos_get user"},
		"a tag without one of its": {in: Selection{Tags: []string{"repos"}}, out: Selection{Operations: []string{"repos/delete"}}, want: "repos_get"},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := serve(t, document, nil, Options{Include: c.in, Exclude: c.out})
			if got := strings.Join(slices.Sorted(maps.Keys(toolsOf(t, client))), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSchemasBecomeJSONSchema(t *testing.T) {
	for name, c := range map[string]struct{ version, schema, want string }{
		"nullable":              {"3.0.3", `{"type":"string","nullable":true,"enum":["a"]}`, `{"type":["string","null"],"enum":["a",null]}`},
		"exclusive by boolean":  {"3.0.3", `{"type":"number","minimum":1,"exclusiveMinimum":true}`, `{"type":"number","minimum":1,"exclusiveMinimum":1}`},
		"exclusive by number":   {"3.1.0", `{"type":"number","exclusiveMinimum":1}`, `{"type":"number","exclusiveMinimum":1}`},
		"a list of types":       {"3.1.0", `{"type":["string","null"]}`, `{"type":["string","null"]}`},
		"a default is said":     {"3.0.3", `{"type":"boolean","default":true}`, `{"type":"boolean","description":"Default: true."}`},
		"oneOf is anyOf":        {"3.0.3", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		"read-only is gone":     {"3.0.3", `{"type":"object","required":["id","n"],"properties":{"id":{"type":"integer","readOnly":true},"n":{"type":"string"}}}`, `{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}`},
		"what is no schema":     {"3.0.3", `{"type":"file","required":true,"enum":[],"minLength":-1,"items":[1],"properties":1,"pattern":2,"multipleOf":0}`, `{}`},
		"others are gone":       {"3.1.0", `{"type":"string","xml":{},"discriminator":{},"x-a":1,"externalDocs":{},"not":{"type":"null"},"$id":"x"}`, `{"type":"string"}`},
		"closed stays closed":   {"3.0.3", `{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`},
		"null next to a schema": {"3.0.3", `{"nullable":true,"allOf":[{"type":"string"}]}`, `{"anyOf":[{"allOf":[{"type":"string"}]},{"type":"null"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			document := documentOf(c.version, `{"/x":{"post":{"operationId":"op","requestBody":{"content":{"application/json":{"schema":`+c.schema+`}}}}}}`, "")
			_, client := serve(t, document, nil, Options{})
			var schema struct {
				Properties struct{ Body json.RawMessage }
			}
			if err := json.Unmarshal(toolsOf(t, client)["op"].InputSchema, &schema); err != nil {
				t.Fatal(err)
			}
			if got := string(schema.Properties.Body); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// cyclic holds schemas with every kind of reference to themselves.
const cyclic = `,"components":{"schemas":{
	"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/components/schemas/Node"}},"parent":{"$ref":"#/components/schemas/Node"}}},
	"Self":{"$ref":"#/components/schemas/Self"},
	"All":{"allOf":[{"$ref":"#/components/schemas/All"},{"type":"object"}]},
	"Gone":{"$ref":"#/components/schemas/Nowhere"},
	"File":{"$ref":"/etc/passwd"}, "Up":{"$ref":"../../secret.yaml"}, "Web":{"$ref":"http://127.0.0.1:1/x.yaml"}}}`

func TestReferencesThatLeadBackAreKeptAndBounded(t *testing.T) {
	var paths strings.Builder
	for i, name := range []string{"Node", "Self", "All", "Gone", "File", "Up", "Web"} {
		if i > 0 {
			paths.WriteByte(',')
		}
		schema := `{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/` + name + `"}}}}`
		fmt.Fprintf(&paths, `"/%s":{"post":{"operationId":"%s","requestBody":%s,"responses":{"200":%s}}}`, name, name, schema, schema)
	}
	s, client := serve(t, documentOf("3.0.3", "{"+paths.String()+"}", cyclic), nil, Options{})
	tools := toolsOf(t, client)
	if len(tools) != 7 {
		t.Errorf("got %d tools; skipped: %v", len(tools), s.Skipped)
	}
	if got := string(tools["Node"].InputSchema); !strings.Contains(got, `"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}`) {
		t.Errorf("got %s", got)
	}
	if got := call(t, client, "Node", `{"body":{"children":[{"children":[{"name":1}]}]}}`); !got.IsError {
		t.Errorf("a name deep within is a text: got %q", got.Text())
	}
	for name, tool := range tools {
		if len(tool.OutputSchema) > maxOutputSchema {
			t.Errorf("%s: the output schema has %d bytes", name, len(tool.OutputSchema))
		}
	}
	inEveryDialect(t, tools)
}

// inEveryDialect converts tools for each provider, and fails if one is omitted.
func inEveryDialect(t *testing.T, tools map[string]mcp.Tool) {
	t.Helper()
	var all []model.Tool
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		all = append(all, model.Tool{Name: name, Description: tools[name].Description, Schema: tools[name].InputSchema})
	}
	for _, name := range []string{"openai", "anthropic", "gemini", "grammar"} {
		d, _ := model.DialectNamed(name)
		d.MaxTools = 0
		lowered, notes := model.Lower(all, d)
		for _, n := range notes {
			if n.SetAside {
				t.Errorf("%s: %s: %s", name, n.Tool, n.Text)
			}
		}
		request := &model.Request{Tools: lowered, Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Text: "x"}}}}}
		if err := model.Check(request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAHostileDocumentCostsLittle(t *testing.T) {
	var wide strings.Builder // each schema has ten of the next
	for i := range 30 {
		fmt.Fprintf(&wide, `"S%d":{"type":"object","properties":{`, i)
		for j := range 10 {
			if j > 0 {
				wide.WriteByte(',')
			}
			fmt.Fprintf(&wide, `"p%d":{"$ref":"#/components/schemas/S%d"}`, j, i+1)
		}
		wide.WriteString(`}},`)
	}
	document := documentOf("3.0.3", `{"/x":{"post":{"operationId":"op","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}},
		"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}}}}`, `,"components":{"schemas":{`+wide.String()+`"S30":{"type":"string"}}}`)
	s, client := serve(t, document, nil, Options{})
	tools := toolsOf(t, client)
	if len(tools) != 1 || len(tools["op"].InputSchema) > 48<<10 || len(tools["op"].OutputSchema) > maxOutputSchema {
		t.Errorf("%d tools, input %d, output %d bytes; skipped: %v", len(tools), len(tools["op"].InputSchema), len(tools["op"].OutputSchema), s.Skipped)
	}
	inEveryDialect(t, tools)
}

func TestOutputSchemasAreLenient(t *testing.T) {
	const paths = `{"/x":{"get":{"operationId":"op","parameters":[{"name":"q","in":"query"}],"responses":{"200":{"headers":{"X-Next":{}},"content":{"application/json":{"schema":{"type":"object","required":["id"],
		"properties":{"id":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"owner":{"nullable":true,"allOf":[{"type":"object","properties":{"n":{"type":"string","format":"email"}}}]}}}}}}}}}}`
	answers := map[string]string{
		"fits": `{"id":1,"tags":["a"],"owner":{"n":"b"}}`, "nulls": `{"id":null,"tags":null,"owner":null,"more":[1]}`, "empty": ``,
		"wrong": `{"id":1,"tags":["a",2]}`, "list": `[1]`, "long": `{"id":1,"text":"` + strings.Repeat("x", 70_000) + `"}`,
	}
	_, client := serve(t, documentOf("3.0.3", paths, ""), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Next", "7")
		io.WriteString(w, answers[r.URL.Query().Get("q")])
	}, Options{})
	if got := string(toolsOf(t, client)["op"].OutputSchema); !strings.Contains(got, `"owner":{"type":["null","object"],"properties":{"n":{"type":["null","string"]}}}`) {
		t.Errorf("got %s", got)
	}
	for q, want := range map[string]string{"fits": answers["fits"], "nulls": answers["nulls"], "empty": `{}`, "long": `{"id":1}`} {
		got := call(t, client, "op", `{"q":"`+q+`"}`)
		if got.IsError || string(got.StructuredContent) != want || !strings.Contains(got.Text(), "X-Next: 7") {
			t.Errorf("%s: got %.200s and %.200q", q, got.StructuredContent, got.Text())
		}
	}
	for q, want := range map[string]string{"wrong": "tags[1]: expected string, got number", "list": "it is not a JSON object"} {
		got := call(t, client, "op", `{"q":"`+q+`"}`)
		if !got.IsError || !strings.Contains(got.Text(), want) || !strings.Contains(got.Text(), answers[q]) || !strings.Contains(got.Text(), "executed it (status 200)") {
			t.Errorf("%s: got %q", q, got.Text())
		}
	}
}

func TestSecretsGoWhereTheDocumentSays(t *testing.T) {
	const schemes = `,"components":{"securitySchemes":{"token":{"type":"http","scheme":"bearer"},"login":{"type":"http","scheme":"basic"},"key":{"type":"apiKey","in":"query","name":"api_key"},
		"head":{"type":"apiKey","in":"header","name":"X-Key"},"sid":{"type":"apiKey","in":"cookie","name":"sid"},"oauth":{"type":"oauth2","flows":{}}}}`
	const paths = `{"/token":{"get":{"operationId":"token","security":[{"token":[]}]}},"/either":{"get":{"operationId":"either","security":[{"login":[]},{"key":[]}]}},
		"/both":{"get":{"operationId":"both","security":[{"head":[],"sid":[]}],"parameters":[{"name":"X-Key","in":"header"},{"name":"api_key","in":"query"},{"name":"o","in":"query","schema":{"type":"object"}}]}},
		"/open":{"get":{"operationId":"open","security":[]}},"/any":{"get":{"operationId":"any"}},"/oauth":{"get":{"operationId":"oauth","security":[{"oauth":[]}]}}}`
	var seen string
	api := func(w http.ResponseWriter, r *http.Request) {
		seen = r.URL.RawQuery + r.Header.Get("Authorization") + r.Header.Get("X-Key") + r.Header.Get("Cookie")
		echo(w, r)
	}
	secrets := map[string]string{"key": "k-123456", "head": "h-123456", "sid": "c-123456", "": "t-123456"}
	_, client := serve(t, documentOf("3.0.3", paths, `,"security":[{"token":[]}]`+schemes), api, Options{Secrets: secrets})
	for tool, want := range map[string]string{
		"token": "Bearer t-123456", "either": "api_key=k-123456", "both": "h-123456sid=c-123456", "open": "", "any": "Bearer t-123456", "oauth": "Bearer t-123456",
	} {
		got := call(t, client, tool, `{}`)
		if seen != want {
			t.Errorf("%s: the API saw %q, want %q", tool, seen, want)
		}
		if strings.Contains(got.Text(), "-123456") {
			t.Errorf("%s: the result shows a secret: %q", tool, got.Text())
		}
	}
	if schema := string(toolsOf(t, client)["both"].InputSchema); strings.Contains(schema, "X-Key") || strings.Contains(schema, "api_key") {
		t.Errorf("a credential is an argument: %s", schema)
	}
	if got := call(t, client, "both", `{"o":{"api_key":"mine"}}`); !got.IsError || !strings.Contains(got.Text(), "api_key: the call does not have it") {
		t.Errorf("got %q", got.Text())
	}
}

func TestFaultsInADocumentAreReported(t *testing.T) {
	good := documentOf("3.0.3", `{"/x":{"get":{"operationId":"op","tags":["a"]}}}`, "")
	for name, c := range map[string]struct {
		document string
		o        Options
		want     string
	}{
		"Swagger":                      {`{"swagger":"2.0","paths":{}}`, Options{}, "it uses Swagger 2.0: convert it"},
		"another version":              {`{"openapi":"4.0.0","paths":{}}`, Options{}, `it uses OpenAPI "4.0.0": expected 3.0 or 3.1`},
		"no document":                  {`{"a":1}`, Options{}, `the member "openapi" is missing`},
		"no object":                    {`[]`, Options{}, "expected an object"},
		"no JSON":                      {`{`, Options{}, "api.json: "},
		"no paths":                     {documentOf("3.1.0", `{}`, ""), Options{}, "it has no paths"},
		"a relative server":            {strings.ReplaceAll(good, "SERVER", "/v1"), Options{}, "is relative, and the document is a file: set a base URL"},
		"a server of a file":           {strings.ReplaceAll(good, "SERVER", "file:///etc"), Options{}, "set a base URL"},
		"a variable without":           {strings.ReplaceAll(good, "SERVER", "https://{region}.example.com"), Options{}, "a variable without a value"},
		"nothing is picked":            {strings.ReplaceAll(good, "SERVER", "https://example.com"), Options{Include: Selection{Tags: []string{"b"}}}, "none of the 1 operations is selected; the tags are: a"},
		"a pattern":                    {good, Options{Include: Selection{Paths: []string{"/[a"}}}, "the pattern /[a cannot be read"},
		"an unknown scheme":            {strings.ReplaceAll(good, "SERVER", "https://example.com"), Options{Secrets: map[string]string{"x": "s3cret"}}, `there is no security scheme "x"`},
		"a secret of two lines":        {strings.ReplaceAll(good, "SERVER", "https://example.com"), Options{Secrets: map[string]string{"": "s3cret\nX: y"}}, "has a character that no header can have"},
		"a path without its parameter": {documentOf("3.0.3", `{"/x/{id}":{"get":{}}}`, ""), Options{}, "{id} is not a parameter of the path"},
		"a base with a password":       {good, Options{Requests: httptool.Options{Base: "https://me:s3cret@example.com"}}, "it has a password"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.From = filepath.Join(t.TempDir(), "api.json")
			if err := os.WriteFile(c.o.From, []byte(strings.ReplaceAll(c.document, "SERVER", "https://example.com")), 0o600); err != nil {
				t.Fatal(err)
			}
			c.o.Requests.Logger = slog.New(slog.DiscardHandler)
			_, err := Open(t.Context(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestADocumentMayBeOfSeveralFilesAndInYAML(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"api.yaml":           "openapi: 3.1.0\ninfo: {title: Several, version: 1}\nservers: [{url: 'https://{r}.example.com/v1', variables: {r: {default: eu, enum: [eu, us]}}}]\npaths:\n  /a/{id}:\n    $ref: paths/a.yaml#/item\n",
		"paths/a.yaml":       "item:\n  get:\n    operationId: a\n    parameters:\n      - $ref: ../parts/id.yaml\n",
		"parts/id.yaml":      "{name: id, in: path, required: true, schema: {$ref: 'schemas.json#/Id'}}\n",
		"parts/schemas.json": `{"Id":{"type":"integer"}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(s *Server, err error, base string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := mcp.NewClient(s)
		defer c.Close()
		if got := string(toolsOf(t, c)["a"].InputSchema); s.Base != base || got != `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}` {
			t.Errorf("got %s at %s", got, s.Base)
		}
	}
	s, err := Open(t.Context(), Options{From: filepath.Join(dir, "api.yaml"), Variables: map[string]string{"r": "us"}})
	check(s, err, "https://us.example.com/v1")
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	s, err = Open(t.Context(), Options{From: web.URL + "/api.yaml?token=x"})
	check(s, err, "https://eu.example.com/v1")
	if _, err := Open(t.Context(), Options{From: web.URL + "/gone.yaml?token=s3cret"}); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(context.Background(), Options{From: filepath.Join(dir, "api.yaml"), Variables: map[string]string{"r": "x"}}); err == nil || !strings.Contains(err.Error(), `r is "x": expected one of eu, us`) {
		t.Errorf("got %v", err)
	}
}

// texts is a transport that responds with texts by URL.
type texts map[string]string

func (all texts) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(all[r.URL.String()])), Request: r}, nil
}

func TestADocumentFromOutsideDoesNotLeadInside(t *testing.T) {
	for server, inside := range map[string]bool{
		"http://localhost/": true, "http://127.0.0.1:8080/": true, "http://10.1.2.3/": true, "http://169.254.169.254/latest": true, "http://[::1]/": true,
		"https://api.example.com/": false, "/v1": false, "https://8.8.8.8/": false,
	} {
		const from = "https://docs.example.com/api.json"
		web := texts{from: strings.ReplaceAll(documentOf("3.1.0", `{"/x":{"get":{}}}`, ""), "SERVER/v1", server)}
		web[from] = strings.ReplaceAll(web[from], "SERVER", server)
		s, err := Open(context.Background(), Options{From: from, Requests: httptool.Options{Transport: web}})
		if inside != (err != nil) {
			t.Errorf("%s: got %v", server, err)
		}
		if err != nil && !strings.Contains(err.Error(), "if that is right, set a base URL") {
			t.Error(err)
		}
		if err == nil {
			s.Close()
		}
	}
}
