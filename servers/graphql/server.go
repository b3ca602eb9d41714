package graphql

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

const (
	defaultDepth   = 2
	maxDepth       = 6
	maxTypes       = 48 << 20 // bytes of the introspection result
	maxTools       = 5_000
	maxName        = 64
	maxDescription = 4 << 10 // bytes of a tool's description
	maxErrors      = 10      // number of the API's errors in a result
)

// Options selects an API and configures its server. Only URL is required.
type Options struct {
	// URL is the http or https URL of the API.
	URL string
	// Schema is the path of a file with the introspection result, for an API that does not support
	// introspection. By default the API is queried.
	Schema string
	// Name is the name of the server; default "graphql".
	Name string
	// Include lists patterns of the fields that become tools, in the syntax of path.Match; default
	// all. Exclude lists patterns of fields that do not.
	Include, Exclude []string
	// Depth is the number of levels of a result that are selected if a call has no argument
	// "fields", 1 to 6; default 2.
	Depth int
	// Requests holds the credentials and the limits of requests. Its Base is ignored.
	Requests httptool.Options
}

// A Server is a server whose tools are the fields of an API. The caller must close it.
type Server struct {
	*mcp.Server
	client *httptool.Client
	url    *url.URL
}

// Open reads the types of the API and returns its server.
func Open(ctx context.Context, o Options) (*Server, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("graphql: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options) (*Server, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" {
		return nil, errors.New("expected the URL of the API, http or https")
	}
	o.Name = cmp.Or(o.Name, "graphql")
	o.Depth = cmp.Or(o.Depth, defaultDepth)
	if o.Depth < 1 || o.Depth > maxDepth {
		return nil, fmt.Errorf("depth %d: expected 1 to %d", o.Depth, maxDepth)
	}
	for _, pattern := range slices.Concat(o.Include, o.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q cannot be read", pattern)
		}
	}
	o.Requests.Base = at.Scheme + "://" + at.Host
	client, err := httptool.NewClient(o.Name, o.Requests)
	if err != nil {
		return nil, err
	}
	s := &Server{client: client, url: at, Server: mcp.NewServerWith(o.Name, "1.0.0", mcp.ServerOptions{Title: "GraphQL", NoLogging: true, Logger: o.Requests.Logger})}
	client.Offer(s.Server)
	types, err := s.types(ctx, o)
	if err != nil {
		return nil, err
	}
	return s, s.addAll(types, &o)
}

// types reads the types from the API or from a file.
func (s *Server) types(ctx context.Context, o Options) (*schema, error) {
	var text []byte
	if o.Schema != "" {
		f, err := os.Open(o.Schema)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if text, err = io.ReadAll(io.LimitReader(f, maxTypes)); err != nil {
			return nil, err
		}
	} else {
		larger := o.Requests
		larger.MaxAnswer = maxTypes
		client, err := httptool.NewClient(o.Name, larger)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		answer, err := client.Send(ctx, s.request(introspection, tree.NewObject()))
		if err != nil {
			return nil, fmt.Errorf("introspection: %w", err)
		}
		if answer.Status != http.StatusOK {
			return nil, errors.New("introspection: " + client.Result(answer, httptool.Shape{}).Text())
		}
		text = answer.Body
	}
	value, err := tree.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("introspection: %w", err)
	}
	return readSchema(value)
}

func (s *Server) request(query string, variables *tree.Object) *httptool.Request {
	target := *s.url
	return &httptool.Request{
		Method: http.MethodPost, URL: &target, Body: tree.Append(nil, tree.NewObject("query", query, "variables", variables)),
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/graphql-response+json, application/json;q=0.9"}},
	}
}

// addAll registers a tool for each selected field. A mutation that has the name of a query becomes
// mutate_NAME.
func (s *Server) addAll(types *schema, o *Options) error {
	taken := map[string]bool{}
	for i, root := range []string{types.query, types.mutation} {
		operation := []string{"query", "mutation"}[i]
		for _, e := range types.types[root].List("fields") {
			field, ok := e.(*tree.Object)
			if !ok || !isName(field.Text("name")) || !picked(field.Text("name"), o) {
				continue
			}
			if len(taken) >= maxTools {
				return fmt.Errorf("more than %d fields are selected: select fewer with a pattern", maxTools)
			}
			f := &fieldTool{server: s, operation: operation, field: field, name: field.Text("name"), selection: types.selection(field.Object("type"), o.Depth)}
			name := toolName(f.name, operation, operation == "mutation" && types.asks(f.name))
			taken[name] = true
			if err := s.SetTool(f.tool(name, types), f.call); err != nil {
				return err
			}
		}
	}
	if len(taken) == 0 {
		return errors.New("no field of the query and mutation types is selected")
	}
	return nil
}

func picked(name string, o *Options) bool {
	matches := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
	return (len(o.Include) == 0 || slices.ContainsFunc(o.Include, matches)) && !slices.ContainsFunc(o.Exclude, matches)
}

// toolName returns the tool name for a field, with at most 64 characters. asked reports whether a
// query has the same name.
func toolName(field, operation string, asked bool) string {
	name := field
	if asked {
		name = "mutate_" + field
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(operation + " " + field))
		name = name[:min(len(name), maxName-17)] + "_" + hex.EncodeToString(sum[:8])
	}
	return name
}

// isName reports whether a text is a valid GraphQL name.
func isName(text string) bool {
	for i, c := range []byte(text) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// Close closes idle connections and drops the stored responses.
func (s *Server) Close() error { return s.client.Close() }

// A fieldTool is the tool of one field.
type fieldTool struct {
	server    *Server
	operation string // "query" or "mutation"
	field     *tree.Object
	name      string
	selection string // empty if the field is a scalar
}

func (f *fieldTool) tool(name string, types *schema) mcp.Tool {
	method := map[string]string{"query": http.MethodGet, "mutation": http.MethodPost}[f.operation]
	description := strings.TrimSpace(clip(f.field.Text("description"), maxDescription) + "\n\n" + f.operation + " " + f.name + ": " + typeText(f.field.Object("type")))
	return mcp.Tool{Name: name, Description: description, Annotations: httptool.AnnotationsFor(method), InputSchema: tree.Append(nil, types.input(f.field, f.selection != ""))}
}

// call sends the query or mutation with the arguments as variables.
func (f *fieldTool) call(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	value, err := tree.ParseJSON(arguments)
	if err != nil {
		return nil, err
	}
	given, _ := value.(*tree.Object)
	query, variables, err := f.query(given)
	if err != nil {
		return nil, err
	}
	answer, err := f.server.client.Send(ctx, f.server.request(query, variables))
	if err != nil {
		return nil, err
	}
	return f.result(answer), nil
}

// query returns the document of a call, with a variable for each given argument.
func (f *fieldTool) query(given *tree.Object) (string, *tree.Object, error) {
	var declared, passed []string
	variables, isArgument := tree.NewObject(), false
	for _, e := range f.field.List("args") {
		a, _ := e.(*tree.Object)
		name := a.Text("name")
		isArgument = isArgument || name == fieldsArgument
		if !given.Has(name) || !isName(name) {
			continue
		}
		declared = append(declared, "$"+name+": "+typeText(a.Object("type")))
		passed = append(passed, name+": $"+name)
		variables.Set(name, given.Get(name))
	}
	selection := f.selection
	if text, ok := given.Get(fieldsArgument).(string); ok && !isArgument && selection != "" {
		selection = strings.TrimSpace(text)
		if !strings.HasPrefix(selection, "{") {
			selection = "{" + selection + "}"
		}
		if err := checkSelection(selection); err != nil {
			return "", nil, fmt.Errorf("%s: %w", fieldsArgument, err)
		}
	}
	text := f.operation
	if len(declared) > 0 {
		text += " (" + strings.Join(declared, ", ") + ")"
	}
	text += " {" + f.name
	if len(passed) > 0 {
		text += "(" + strings.Join(passed, ", ") + ")"
	}
	return text + " " + selection + "}", variables, nil
}

// result returns the value of the field and the API's errors.
func (f *fieldTool) result(answer *httptool.Answer) *mcp.CallToolResult {
	value, err := tree.ParseJSON(answer.Body)
	body, _ := value.(*tree.Object)
	if answer.Status != http.StatusOK || err != nil || !body.Has("data") && !body.Has("errors") {
		return f.server.client.Result(answer, httptool.Shape{})
	}
	var said []string
	for i, e := range body.List("errors") {
		if o, ok := e.(*tree.Object); ok && i < maxErrors {
			line := clip(o.Text("message"), maxText)
			if where := o.List("path"); where != nil {
				line += " (at " + string(tree.Append(nil, where)) + ")"
			}
			said = append(said, line)
		}
	}
	data := body.Object("data").Get(f.name)
	if data == nil && len(said) > 0 {
		return mcp.ToolError("%s %s: %s", f.operation, f.name, strings.Join(said, "\n"))
	}
	only := *answer
	only.Body, only.Header = tree.Append(nil, data), answer.Header.Clone()
	only.Header.Set("Content-Type", "application/json")
	result := f.server.client.Result(&only, httptool.Shape{})
	if len(said) > 0 {
		result.Content = append(result.Content, mcp.Text("A part is missing: "+strings.Join(said, "\n")))
	}
	return result
}
