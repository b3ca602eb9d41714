package graphql

import (
	"encoding/json"
	"fmt"
	"io"
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

// types is the introspection result of a small API.
const types = `{"data":{"__schema":{"queryType":{"name":"Q"},"mutationType":{"name":"M"},"types":[
{"kind":"OBJECT","name":"Q","fields":[
 {"name":"user","description":"One user.","args":[{"name":"id","type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"ID"}}},{"name":"kind","type":{"kind":"ENUM","name":"Kind"},"defaultValue":"BIG"}],"type":{"kind":"OBJECT","name":"User"}},
 {"name":"search","args":[{"name":"where","type":{"kind":"INPUT_OBJECT","name":"Where"}}],"type":{"kind":"LIST","ofType":{"kind":"UNION","name":"Found"}}},
 {"name":"count","args":[],"type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"Int"}}},
 {"name":"save","args":[],"type":{"kind":"SCALAR","name":"String"}},
 {"name":"bad name","args":[],"type":{"kind":"SCALAR","name":"String"}}]},
{"kind":"OBJECT","name":"M","fields":[{"name":"save","args":[{"name":"name","type":{"kind":"SCALAR","name":"String"}},{"name":"at","type":{"kind":"SCALAR","name":"Date"}}],"type":{"kind":"OBJECT","name":"User"}}]},
{"kind":"OBJECT","name":"User","fields":[{"name":"id","args":[],"type":{"kind":"SCALAR","name":"ID"}},{"name":"boss","args":[],"type":{"kind":"OBJECT","name":"User"}},
 {"name":"posts","args":[{"name":"first","type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"Int"}}}],"type":{"kind":"OBJECT","name":"User"}},{"name":"name","args":[],"type":{"kind":"SCALAR","name":"String"}}]},
{"kind":"OBJECT","name":"Empty","fields":[]},
{"kind":"UNION","name":"Found","possibleTypes":[{"name":"User"},{"name":"Empty"}]},
{"kind":"ENUM","name":"Kind","enumValues":[{"name":"BIG"},{"name":"SMALL"}]},
{"kind":"SCALAR","name":"Date","description":"A day."},
{"kind":"INPUT_OBJECT","name":"Where","inputFields":[{"name":"and","type":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":{"kind":"INPUT_OBJECT","name":"Where"}}}},{"name":"age","type":{"kind":"SCALAR","name":"Int"}}]}
]}}}`

// serve serves an API that returns types to introspection, and answer to every other request. last
// is the body of the last request.
func serve(t *testing.T, answer string, o Options) (c *mcp.Client, last *string) {
	t.Helper()
	last = new(string)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), "__schema") {
			io.WriteString(w, types)
			return
		}
		*last = string(body)
		io.WriteString(w, answer)
	}))
	t.Cleanup(api.Close)
	o.URL = api.URL + "/graphql"
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c = mcp.NewClient(s)
	t.Cleanup(func() { c.Close(); s.Close() })
	return c, last
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

func TestFieldsBecomeTools(t *testing.T) {
	c, _ := serve(t, `{}`, Options{})
	tools := toolsOf(t, c)
	if got, want := slices.Sorted(maps.Keys(tools)), []string{"count", "mutate_save", "save", "search", "user"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const fields = `"fields":{"type":"string","description":"What to return of User, as a GraphQL selection set such as {id owner {login}}. Without it: its plain fields."}`
	if got, want := string(tools["user"].InputSchema), `{"type":"object","properties":{"id":{"type":["string","integer"]},"kind":{"type":["string","null"],"enum":["BIG","SMALL",null],"description":"Default: BIG."},`+fields+`},"required":["id"],"additionalProperties":false}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := string(tools["search"].InputSchema); !strings.Contains(got, `"$defs":{"Where":{"type":"object","properties":{"and":{"type":["array","null"],"items":{"$ref":"#/$defs/Where"}},"age":{"type":["integer","null"]}}`) {
		t.Errorf("got %s", got)
	}
	if got := tools["user"].Description; got != "One user.\n\nquery user: User" {
		t.Errorf("got %q", got)
	}
	if !*tools["user"].Annotations.ReadOnlyHint || *tools["mutate_save"].Annotations.ReadOnlyHint {
		t.Error("a query only reads, a mutation does not")
	}
	for _, dialect := range []string{"openai", "anthropic", "gemini", "grammar"} {
		d, _ := model.DialectNamed(dialect)
		for name, tool := range tools {
			if lowered, notes := model.Lower([]model.Tool{{Name: name, Schema: tool.InputSchema}}, d); len(lowered) != 1 {
				t.Errorf("%s: %s: %v", dialect, name, notes)
			}
		}
	}
}

func TestCallsSendArgumentsAsVariables(t *testing.T) {
	for name, c := range map[string]struct{ tool, arguments, query, variables string }{
		"no arguments":          {"count", `{}`, `query {count }`, `{}`},
		"an argument":           {"user", `{"id":"x\") { evil }"}`, `query ($id: ID!) {user(id: $id) {id name boss {id name}}}`, `{"id":"x\") { evil }"}`},
		"an input":              {"search", `{"where":{"and":[{"age":1}]}}`, `query ($where: Where) {search(where: $where) {__typename ... on User {id name}}}`, `{"where":{"and":[{"age":1}]}}`},
		"a mutation":            {"mutate_save", `{"name":null,"at":"2020-01-02"}`, `mutation ($name: String, $at: Date) {save(name: $name, at: $at) {id name boss {id name}}}`, `{"name":null,"at":"2020-01-02"}`},
		"fields":                {"user", `{"id":1,"fields":"{ id posts(first: 3) { name } }"}`, `query ($id: ID!) {user(id: $id) { id posts(first: 3) { name } }}`, `{"id":1}`},
		"fields without braces": {"user", `{"id":1,"fields":"id posts(first: 3, q: \"}\") {name}"}`, `query ($id: ID!) {user(id: $id) {id posts(first: 3, q: "}") {name}}}`, `{"id":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			client, last := serve(t, `{"data":{}}`, Options{})
			call(t, client, c.tool, c.arguments)
			var sent struct {
				Query     string
				Variables json.RawMessage
			}
			if err := json.Unmarshal([]byte(*last), &sent); err != nil {
				t.Fatal(err)
			}
			if sent.Query != c.query || string(sent.Variables) != c.variables {
				t.Errorf("sent %s with %s, want %s", sent.Query, sent.Variables, c.query)
			}
		})
	}
}

func TestASelectionCannotEndTheQuery(t *testing.T) {
	for name, text := range map[string]string{
		"another operation":    `{id}} mutation {save {id}`,
		"another operation 2":  `id} } mutation { save { id `,
		"a closing brace":      `}`,
		"a comment":            `{id # }` + "\n}",
		"a variable":           `{id(x: $id)}`,
		"a wrong pair":         `{id(}`,
		"a string without end": `{id(x: "}`,
		"a string of lines":    "{id(x: \"\n\")}",
		"a block string":       `{id(x: """a""")}`,
		"an escaped quote":     `{id(x: "\"}`,
		"too deep":             strings.Repeat("{a", 30) + strings.Repeat("}", 30),
		"too long":             "{" + strings.Repeat("a ", 10_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			c, last := serve(t, `{"data":{}}`, Options{})
			arguments, _ := json.Marshal(map[string]any{"id": 1, "fields": text})
			if got := call(t, c, "user", string(arguments)); !got.IsError || !strings.HasPrefix(got.Text(), "fields: ") || *last != "" {
				t.Errorf("got %q; sent %q", got.Text(), *last)
			}
		})
	}
}

func TestAnswersAreThoseOfTheField(t *testing.T) {
	for name, c := range map[string]struct {
		answer, text string
		failed       bool
	}{
		"data":             {`{"data":{"user":{"id":"1"}}}`, `{"id":"1"}`, false},
		"null":             {`{"data":{"user":null}}`, `null`, false},
		"errors":           {`{"data":{"user":null},"errors":[{"message":"no such user","path":["user"]}]}`, "query user: no such user (at [\"user\"])", true},
		"errors only":      {`{"errors":[{"message":"a"},{"message":"b"}]}`, "query user: a\nb", true},
		"a part":           {`{"data":{"user":{"id":"1","boss":null}},"errors":[{"message":"not yours"}]}`, "{\"id\":\"1\",\"boss\":null}\nA part is missing: not yours", false},
		"something else":   {`[1]`, "[1]", false},
		"a list of scalar": {`{"data":{"user":[1.50]}}`, "[1.50]", false},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, c.answer, Options{})
			if got := call(t, client, "user", `{"id":1}`); got.Text() != c.text || got.IsError != c.failed {
				t.Errorf("got %q, %t", got.Text(), got.IsError)
			}
		})
	}
}

func TestErrorsAreReported(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/off":
			fmt.Fprint(w, `{"errors":[{"message":"introspection is off"}]}`)
		case "/auth":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, types)
		}
	}))
	defer api.Close()
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no URL":         {Options{}, "graphql: expected the URL of the API"},
		"a password":     {Options{URL: strings.Replace(api.URL, "//", "//me:s3cret@", 1)}, "without a password"},
		"switched off":   {Options{URL: api.URL + "/off"}, "if introspection is switched off, save an introspection result"},
		"not authorized": {Options{URL: api.URL + "/auth"}, "introspection: POST /auth: the API answered 401 Unauthorized"},
		"nothing picked": {Options{URL: api.URL, Include: []string{"x*"}}, "no field of the query and mutation types is selected"},
		"a depth":        {Options{URL: api.URL, Depth: 7}, "depth 7: expected 1 to 6"},
		"a pattern":      {Options{URL: api.URL, Exclude: []string{"["}}, `the pattern "[" cannot be read`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTypesMayComeFromAFileAndFieldsBePicked(t *testing.T) {
	from := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(from, []byte(types), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{URL: "https://api.example.com/graphql", Schema: from, Include: []string{"s*", "user"}, Exclude: []string{"search"},
		Requests: httptool.Options{Credentials: []httptool.Credential{{In: httptool.Bearer, Value: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := mcp.NewClient(s)
	defer c.Close()
	if got, want := slices.Sorted(maps.Keys(toolsOf(t, c))), []string{"mutate_save", "save", "user"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
