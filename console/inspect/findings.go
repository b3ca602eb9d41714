package inspect

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// maxFindings is how many things are said of one request.
const maxFindings = 100

// A finding is something that is wrong with what a server gave.
type finding struct {
	Request uint64 `json:"request"`
	Subject string `json:"subject,omitempty"` // the tool, prompt or resource
	Where   string `json:"where"`             // the member
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

func found(q *asked, subject, where, problem, remedy string) finding {
	return finding{q.Request, plaintext.Line(subject, maxDetail), where, plaintext.Line(problem, maxDetail), remedy}
}

// checkList looks at the entries of a list.
func (c *connection) checkList(q *asked, entries []json.RawMessage) []finding {
	var all []finding
	add := func(f finding) {
		if len(all) < maxFindings {
			all = append(all, f)
		}
	}
	seen := map[string]bool{}
	key := revision.MethodNamed(q.Method).Key
	for _, entry := range entries {
		name, named := jsonrpc.Unquote(jsonrpc.Get(entry, key))
		switch {
		case !named || name == "":
			add(found(q, plaintext.Line(string(entry), 100), key, "an entry has none, so nobody can ask for it", "the author of the server must give it one"))
		case seen[name]:
			add(found(q, name, key, "two entries have the same", "the author of the server must name them differently: only one can be reached"))
		}
		seen[name] = true
		if q.Method == "tools/list" {
			for _, f := range checkTool(q, name, entry) {
				add(f)
			}
		}
	}
	return all
}

func checkTool(q *asked, name string, entry json.RawMessage) []finding {
	const mend = "the author of the server must correct the schema (https://json-schema.org/draft/2020-12); until then give the arguments as JSON, unchecked"
	var all []finding
	for _, where := range []string{"inputSchema", "outputSchema"} {
		form := jsonrpc.Get(entry, where)
		if form == nil {
			if where == "inputSchema" {
				all = append(all, found(q, name, where, "it is missing: a tool without arguments has {\"type\": \"object\"}", mend))
			}
			continue
		}
		kind, isText := jsonrpc.Unquote(jsonrpc.Get(form, "type"))
		switch _, err := schema.Compile(form); {
		case err != nil:
			all = append(all, found(q, name, where, "it is no schema that can be used: "+err.Error(), mend))
		case where == "inputSchema" && (!isText || kind != "object"):
			all = append(all, found(q, name, where, `its type is not "object", which arguments are`, mend))
		}
	}
	return all
}

// checkResult looks at the result of a call: what it says has to fit the tool's output schema.
func (c *connection) checkResult(ctx context.Context, q *asked, client *mcp.Client, body json.RawMessage, kind string) []finding {
	if q.Method != "tools/call" || kind == "task" {
		return nil
	}
	name, _ := jsonrpc.Unquote(jsonrpc.Get(q.Params, "name"))
	content := jsonrpc.Get(body, "content")
	if len(content) == 0 || content[0] != '[' {
		return []finding{found(q, name, "content", "the result has no array of content", "the author of the server must add it; an empty one will do")}
	}
	if string(jsonrpc.Get(body, "isError")) == "true" {
		return nil
	}
	form := c.outputSchema(name)
	if form == nil {
		return nil
	}
	given := jsonrpc.Get(body, "structuredContent")
	if given == nil {
		return []finding{found(q, name, "structuredContent", "the tool has an output schema, and the result no structured content", "the author of the server must add it, or take the schema away")}
	}
	checks, err := schema.Compile(form)
	if err != nil {
		return nil // said with the list
	}
	if err := checks.Validate(given); err != nil {
		return []finding{found(q, name, "structuredContent", "it does not fit the tool's output schema: "+err.Error(), "the author of the server must correct the one or the other: clients refuse such a result")}
	}
	return nil
}

// outputSchema is that of a tool, as far as the tools were listed.
func (c *connection) outputSchema(name string) (form json.RawMessage) {
	c.mu.Lock()
	var tools json.RawMessage
	for _, q := range c.asked {
		if q.Method == "tools/list" && q.Result != nil {
			tools = q.Result
		}
	}
	c.mu.Unlock()
	jsonrpc.EachElement(jsonrpc.Get(tools, "tools"), func(entry []byte) bool {
		if n, _ := jsonrpc.Unquote(jsonrpc.Get(entry, "name")); n != name {
			return true
		}
		form = jsonrpc.Get(entry, "outputSchema")
		return false
	})
	return form
}
