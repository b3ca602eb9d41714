// Large-server has what a server of many tools needs around them: tools as values, an argument of
// every tool, tools by category and user, mended arguments, and metrics of calls.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/stdio"
)

// A tool can be added to a server. So tools are values, and a test or a category can choose some.
type tool struct {
	category string
	add      func(*mcp.Server)
}

// define returns a tool that also has the argument orgId. The function finds it with orgOf. The
// result is text alone: a struct becomes its JSON.
func define[In, Out any](category string, t mcp.Tool, f func(context.Context, In) (Out, error)) tool {
	t.InputSchema = withOrg(mcp.SchemaOf[In]())
	t.MoreArguments, t.TextOnly = true, true
	t.Meta = json.RawMessage(`{"example.com/category":` + strconv.Quote(category) + `}`)
	return tool{category, func(s *mcp.Server) { mcp.AddToolWith(s, t, f) }}
}

// withOrg returns a schema of arguments with one more.
func withOrg(schema json.RawMessage) json.RawMessage {
	org := `"orgId":{"type":"integer","description":"The organization","default":1}`
	text := strings.Replace(string(schema), `"properties":{`, `"properties":{`+org+`,`, 1)
	return json.RawMessage(strings.Replace(text, org+`,}`, org+`}`, 1))
}

func orgOf(ctx context.Context) int {
	var arguments struct {
		Org int `json:"orgId"`
	}
	_ = json.Unmarshal(mcp.RequestFrom(ctx).Arguments, &arguments) // it was checked
	return arguments.Org
}

type query struct {
	Text  string   `json:"text" doc:"words in the title"`
	Limit int      `json:"limit" default:"10" min:"1"`
	Tags  []string `json:"tags" required:"false"`
}

type found struct {
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

var search = define("search", mcp.Tool{Name: "search", Description: "Finds dashboards"}, func(ctx context.Context, q query) (found, error) {
	return found{fmt.Sprintf("%s of organization %d, at most %d", q.Text, orgOf(ctx), q.Limit), q.Tags}, nil
})

var remove = define("admin", mcp.Tool{Name: "delete", Description: "Deletes a dashboard"}, func(ctx context.Context, in struct {
	ID int `json:"id"`
}) (string, error) {
	return fmt.Sprintf("deleted %d of organization %d", in.ID, orgOf(ctx)), nil
})

// allowed hides the tools of the category admin from users without the scope.
func allowed(_ context.Context, req *mcp.Request, t *mcp.Tool) bool {
	admin := strings.Contains(string(t.Meta), `"admin"`)
	return !admin || req.Principal == nil || slices.Contains(req.Principal.Scopes, "admin")
}

// mend corrects arguments that models often get wrong, before they are checked: "42" for 42, and a
// value for a list of one.
func mend(s *mcp.Server) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if t := s.Tool(req.Name); t != nil && req.Method == "tools/call" {
				req = req.WithArguments(mended(t.InputSchema, req.Arguments))
			}
			return next.Handle(ctx, req)
		})
	}
}

func mended(schema, arguments json.RawMessage) json.RawMessage {
	var wants struct {
		Properties map[string]struct{ Type any }
	}
	given := map[string]json.RawMessage{}
	if json.Unmarshal(schema, &wants) != nil || json.Unmarshal(arguments, &given) != nil {
		return arguments // the server refuses it
	}
	for name, value := range given {
		switch kind := wants.Properties[name].Type; {
		case kind == "integer" && len(value) > 2 && value[0] == '"':
			given[name] = value[1 : len(value)-1]
		case kind == "array" && value[0] != '[':
			given[name] = slices.Concat([]byte("["), value, []byte("]"))
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return arguments
	}
	return text
}

// A meter counts calls by tool and outcome.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
}

func (m *meter) middleware(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		result, err := next.Handle(ctx, req)
		if req.Method == "tools/call" && req.Round == 0 {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.calls[req.Name+" "+string(mcp.OutcomeOf(ctx, &result, err))]++
		}
		return result, err
	})
}

// newHandler returns the server with the tools of some categories, or of all.
func newHandler(m *meter, categories ...string) mcp.Handler {
	s := mcp.NewServer("large", "1.0.0")
	for _, t := range []tool{search, remove} {
		if len(categories) == 0 || slices.Contains(categories, t.category) {
			t.add(s)
		}
	}
	return mcp.Chain(s, m.middleware, middleware.EditToolsFor(allowed), mend(s))
}

func main() {
	flag.Parse()
	log.Fatal(stdio.Serve(context.Background(), newHandler(&meter{calls: map[string]int{}}, flag.Args()...)))
}
