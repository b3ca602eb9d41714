package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/toolsearch"
)

// A Mode decides when search tools replace the other tools.
type Mode string

// The modes.
const (
	Auto   Mode = "auto"   // when the tools cost more than the budget
	All    Mode = "all"    // never
	Search Mode = "search" // always
)

// The tools that replace others.
const (
	searchTool   = "search_tools"
	describeTool = "describe_tool"
	callTool     = "call_tool"
	ownTools     = 3 // number of these tools
)

const (
	defaultBudget = 10_000  // tokens of definitions above which Auto replaces tools
	maxQueries    = 8       // queries in one search
	maxQuery      = 2_000   // characters of one query
	maxHits       = 5       // results of one query
	maxFound      = 1_500   // tokens of the definitions in the result of one search
	maxOverview   = 1_000   // tokens of the description of search_tools
	maxRead       = 4 << 20 // bytes of arguments of call_tool
)

// Options holds the settings of Middleware. The zero value of each field is its default.
type Options struct {
	// Mode is Auto by default.
	Mode Mode
	// Budget is the number of tokens of all definitions above which Auto replaces tools; the
	// default is 10,000.
	Budget int
	// Pinned lists patterns of the names of tools that are always listed: * matches any characters,
	// ? one.
	Pinned []string
	// Server returns the server of a tool, the description of that server, and the server's own
	// name for the tool. The search groups tools by server and finds them by their own names. If
	// Server is nil, all tools are in one group, with their listed names.
	Server func(tool string) (name, about, own string)
	// Unavailable, if not nil, returns the reason why a tool that is not listed may still exist,
	// such as a server that is not connected. It returns nil for other tools. It must be safe for
	// concurrent use.
	Unavailable func(tool string) error
}

// Middleware returns middleware that lists search_tools, describe_tool and call_tool in place of
// the other tools. It panics if a pattern is not valid.
func Middleware(o Options) mcp.Middleware {
	if o.Mode == "" {
		o.Mode = Auto
	}
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	for _, pattern := range o.Pinned {
		if _, err := path.Match(pattern, ""); err != nil {
			panic(fmt.Sprintf("search: the pattern %q: %v", pattern, err))
		}
	}
	return func(next mcp.Handler) mcp.Handler {
		return &searcher{options: o, next: next, index: toolsearch.New(toolsearch.Options{})}
	}
}

// A searcher lists, finds and calls the tools of one Handler.
type searcher struct {
	options Options
	next    mcp.Handler
	index   *toolsearch.Index
	recent  recent

	mu     sync.Mutex
	read   []json.RawMessage // the pages that the other fields were made from
	tools  map[string]json.RawMessage
	hidden bool            // set if search tools replace the others
	listed json.RawMessage // the list for clients if hidden is set
	groups map[string]bool // servers in the index
}

// Handle responds to requests for tools, and passes other requests on.
func (s *searcher) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if s.options.Mode == All || req.Method != "tools/list" && req.Method != "tools/call" {
		return s.next.Handle(ctx, req)
	}
	if req.Method == "tools/list" {
		return s.list(ctx, req)
	}
	var answer func(context.Context, *mcp.Request) (mcp.Result, error)
	switch req.Name {
	case searchTool:
		answer = s.find
	case describeTool:
		answer = s.describe
	case callTool:
		answer = s.call
	default:
		return s.use(ctx, req)
	}
	if err := s.refresh(ctx, req); err != nil {
		return mcp.Result{}, err
	}
	s.mu.Lock()
	own := s.hidden && s.tools[req.Name] == nil // otherwise a server has a tool of that name
	s.mu.Unlock()
	if !own {
		return s.next.Handle(ctx, req)
	}
	return answer(ctx, req)
}

// list returns the list of tools, or of the search tools that replace them.
func (s *searcher) list(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, err := s.next.Handle(ctx, req)
	if err != nil || jsonrpc.Get(req.Params, "cursor") != nil {
		return result, err // a request for a further page: the first page had a cursor, so the client got the original list
	}
	if err := s.readFrom(ctx, req, &result); err != nil {
		return mcp.Result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hidden {
		return result, nil
	}
	return result.WithJSON(s.listed), nil
}

// refresh reads the tools. It is cheap if they did not change.
func (s *searcher) refresh(ctx context.Context, req *mcp.Request) error {
	list := listRequest(req, nil)
	result, err := s.next.Handle(ctx, list)
	if err != nil {
		return err
	}
	return s.readFrom(ctx, req, &result)
}

// listRequest returns a list request for the client of req.
func listRequest(req *mcp.Request, params json.RawMessage) *mcp.Request {
	list := *req
	list.Method, list.Params, list.Name, list.Arguments, list.Round, list.State = "tools/list", params, "", nil, 0, nil
	list.Meta.ProgressToken = nil
	return &list
}

// maxPages is the maximum number of pages of a list.
const maxPages = 1_000

// readFrom reads all pages of the list that begins with first, and indexes them unless they are
// indexed already.
func (s *searcher) readFrom(ctx context.Context, req *mcp.Request, first *mcp.Result) error {
	body, err := first.Encoded()
	if err != nil {
		return err
	}
	first.JSON = body
	pages := []json.RawMessage{body}
	for cursor := jsonrpc.Get(body, "nextCursor"); cursor != nil && len(pages) < maxPages; {
		w := jsonrpc.NewObject(nil)
		w.Raw("cursor", cursor)
		result, err := s.next.Handle(ctx, listRequest(req, w.Bytes()))
		if err != nil {
			return err
		}
		if body, err = result.Encoded(); err != nil {
			return err
		}
		pages = append(pages, body)
		cursor = jsonrpc.Get(body, "nextCursor")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.EqualFunc(pages, s.read, same) {
		return nil
	}
	s.read = pages
	s.indexed(pages)
	return nil
}

// same reports whether two pages are equal. Pages of a gateway often share their bytes.
func same(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || string(a) == string(b))
}

// indexed makes the index and the list for clients from all pages. The caller holds the lock.
func (s *searcher) indexed(pages []json.RawMessage) {
	byServer, about := map[string][]toolsearch.Tool{}, map[string]string{}
	s.tools = map[string]json.RawMessage{}
	cost := 0
	var pinned []json.RawMessage
	for _, page := range pages {
		jsonrpc.EachElement(jsonrpc.Get(page, "tools"), func(raw []byte) bool {
			t := toolOf(raw)
			if t.ID == "" || s.tools[t.ID] != nil {
				return true
			}
			if s.options.Server != nil {
				server, of, own := s.options.Server(t.Name)
				t.Server, t.Name, about[server] = server, cmp.Or(own, t.Name), of
			}
			s.tools[t.ID] = raw
			if apps.Of(jsonrpc.Get(raw, "_meta")).For(apps.Model) { // otherwise the tool is for views only
				byServer[t.Server] = append(byServer[t.Server], t)
			}
			cost += toolsearch.Tokens(string(raw))
			if s.options.isPinned(t.ID) {
				pinned = append(pinned, raw)
			}
			return true
		})
	}
	for server := range s.groups {
		if byServer[server] == nil {
			s.index.SetServer(server, "", nil)
		}
	}
	s.groups = map[string]bool{}
	for server, tools := range byServer {
		s.groups[server] = true
		s.index.SetServer(server, about[server], tools)
	}
	s.hidden = s.options.replaces(cost)
	if s.hidden {
		s.listed = s.offer(pinned)
	}
}

// offer returns the list that clients see in place of all tools.
func (s *searcher) offer(pinned []json.RawMessage) json.RawMessage {
	find := toolsearch.SearchTool()
	servers := s.index.Servers()
	description := "Finds tools by what they do, and says how they are called. Write one query for each step of the task: the action and the thing it acts on, in general words, like " +
		`"create calendar event". Call what was found with call_tool.`
	if len(servers) > 1 || len(servers) == 1 && servers[0].Name != "" {
		description += "\n\n" + toolsearch.Overview(servers, maxOverview)
	}
	w := jsonrpc.NewObject(nil)
	w.Array("tools")
	tool := func(name, description string, schema json.RawMessage, readOnly bool) {
		if s.tools[name] != nil {
			return // a server has a tool of that name
		}
		w.ObjectElement()
		w.String("name", name)
		w.String("description", description)
		w.Raw("inputSchema", schema)
		if readOnly {
			w.Object("annotations")
			w.Bool("readOnlyHint", true)
			w.Bool("openWorldHint", false)
			w.End()
		}
		w.End()
	}
	tool(searchTool, description, find.Schema, true)
	tool(describeTool, "Returns the whole definition of a tool, if that of search_tools is not enough.", json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`), true)
	tool(callTool, "Calls a tool that search_tools found, with the arguments of its schema.", json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name"],"additionalProperties":false}`), false)
	for _, raw := range pinned {
		w.Element(raw)
	}
	return w.Bytes()
}

// find handles search_tools.
func (s *searcher) find(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	var texts []string
	jsonrpc.EachElement(jsonrpc.Get(req.Arguments, "queries"), func(raw []byte) bool {
		text, ok := jsonrpc.Unquote(raw)
		if ok && strings.TrimSpace(text) != "" {
			texts = append(texts, plaintext.Beginning(text, maxQuery))
		}
		return len(texts) <= maxQueries
	})
	switch {
	case len(texts) == 0:
		return errorResult("queries is missing: a list of texts, one for each step")
	case len(texts) > maxQueries:
		return errorResult("there are more than %d queries; search for some of them first", maxQueries)
	}
	queries := make([]toolsearch.Query, len(texts))
	for i, text := range texts {
		queries[i] = toolsearch.Query{Text: text, Limit: maxHits}
	}
	results := s.index.SearchAll(ctx, queries)
	hits := toolsearch.Merge(results, maxHits*len(texts))
	found := map[string]string{}
	for i, r := range results {
		for _, hit := range r.Hits {
			if _, earlier := found[hit.ID]; !earlier {
				found[hit.ID] = texts[i]
			}
		}
	}
	s.recent.record(req, found)
	var tools []toolsearch.Tool
	for _, hit := range hits {
		if t, ok := s.index.Tool(hit.ID); ok {
			tools = append(tools, t)
		}
	}
	var text strings.Builder
	for i, r := range results {
		switch {
		case len(r.Hits) == 0:
			fmt.Fprintf(&text, "%q: nothing was found; try other words.\n", texts[i])
		case r.Weak:
			fmt.Fprintf(&text, "%q: no good match; the nearest is among these.\n", texts[i])
		}
	}
	for _, t := range toolsearch.Rendered(tools, maxFound) {
		w := jsonrpc.NewObject(nil)
		w.String("name", t.ID)
		w.String("description", t.Description)
		if t.Schema != nil {
			w.Raw("inputSchema", t.Schema)
		}
		text.Write(w.Bytes())
		text.WriteByte('\n')
	}
	return textResult(text.String())
}

// describe handles describe_tool.
func (s *searcher) describe(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	name, _ := jsonrpc.Unquote(jsonrpc.Get(req.Arguments, "name"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw := s.tools[name]; raw != nil {
		return textResult(string(raw))
	}
	if s.options.Unavailable != nil {
		if err := s.options.Unavailable(name); err != nil {
			return mcp.Result{}, err // as a call of it would fail
		}
	}
	if near := nearest.Name(name, slices.Sorted(maps.Keys(s.tools))); near != "" {
		return errorResult("there is no tool %q; did you mean %q?", name, near)
	}
	return errorResult("there is no tool %q; search_tools finds existing tools", name)
}

// call handles call_tool, and returns the tool's own result.
func (s *searcher) call(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	name, _ := jsonrpc.Unquote(jsonrpc.Get(req.Arguments, "name"))
	arguments := jsonrpc.Get(req.Arguments, "arguments")
	if text, ok := jsonrpc.Unquote(arguments); ok && len(text) <= maxRead && jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) == nil {
		arguments = json.RawMessage(text) // as some models write them as text
	}
	switch {
	case (name == searchTool || name == describeTool || name == callTool) && !s.has(name):
		return errorResult("call %s directly, not with call_tool", name)
	case name == "":
		return errorResult("name is missing: give the name of a tool that search_tools found")
	case arguments != nil && arguments[0] != '{':
		return errorResult("arguments is not an object: give the arguments in the schema of %s", name)
	}
	w := jsonrpc.NewObject(nil)
	w.Members(req.Params, "name", "arguments")
	w.String("name", name)
	if arguments != nil {
		w.Raw("arguments", arguments)
	}
	called := *req
	called.Name, called.Arguments, called.Params = name, arguments, w.Bytes()
	called.ParamHeaders = nil // they repeat arguments of call_tool
	return s.use(ctx, &called)
}

func textResult(text string) (mcp.Result, error) {
	return mcp.Result{Value: &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}}, nil
}

func errorResult(format string, args ...any) (mcp.Result, error) {
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(fmt.Sprintf(format, args...))}}}, nil
}
