package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/internal/toolschema"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

const (
	maxOperations      = 5_000   // number of selected operations
	maxToolDescription = 4 << 10 // bytes
	maxAnswerHeaders   = 20      // headers of a response in a result
)

// An operation is an operation of the document, which becomes a tool.
type operation struct {
	method, path, id, name string
	tags                   []string
	item, from             part // dropped after the tool is made

	parameters  []*parameter
	body        *body
	base        *url.URL // URL of the operation's own server; nil means the document's
	credentials []httptool.Credential
	secretNames []string // names of query parameters that are credentials
	accept      string
	shape       httptool.Shape
	output      *tree.Object
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// operationsOf returns all operations, in the order of the document.
func (d *document) operationsOf(root part) (all []*operation, faults []error) {
	paths := root.at("paths")
	for _, path := range paths.Names() {
		if !strings.HasPrefix(path, "/") || paths.Object.Object(path) == nil {
			continue
		}
		item, _, err := d.follow(paths.at(path))
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", path, err))
			continue
		}
		for _, method := range methods {
			from := item.at(method)
			if from.Object == nil {
				continue
			}
			all = append(all, &operation{
				method: strings.ToUpper(method), path: path, id: from.Text("operationId"), tags: from.Texts("tags"), item: item, from: from,
			})
		}
	}
	return all, faults
}

// read reads the parameters, the body and the responses of an operation.
func (o *operation) read(d *document, root part, s *security, options *Options) (err error) {
	if o.parameters, err = d.parametersOf(o.item, o.from, append(s.places(), options.Requests.Credentials...)); err != nil {
		return err
	}
	if o.body, err = d.bodyOf(o.from); err != nil {
		return err
	}
	nameArguments(o.parameters, o.body != nil)
	if err := o.readPath(); err != nil {
		return err
	}
	if options.Requests.Base == "" {
		for _, from := range []part{o.from, o.item} {
			if o.base, err = d.baseOf(from, options.Variables); err != nil {
				return err
			}
			if o.base != nil {
				break
			}
		}
	}
	o.credentials = s.of(root, o.from)
	for _, c := range append(s.places(), options.Requests.Credentials...) {
		if c.In == httptool.Query {
			o.secretNames = append(o.secretNames, c.Name)
		}
	}
	o.readResponses(d)
	return nil
}

// release drops the parts of the document that calls do not need.
func (o *operation) release() {
	o.item, o.from = part{}, part{}
	for _, p := range o.parameters {
		p.schema = part{}
	}
	if o.body != nil {
		o.body.content = part{}
	}
}

// readPath finds the argument for each placeholder in the path. Placeholders in the syntax of
// routers, {name+}, {+name}, {name*} and {name:pattern}, become {name}. If such a placeholder
// matches several segments, the argument may have several.
func (o *operation) readPath() error {
	var path strings.Builder
	for rest := o.path; ; {
		before, after, found := strings.Cut(rest, "{")
		path.WriteString(before)
		if !found {
			o.path = path.String()
			return nil
		}
		text, next := cutPlaceholder(after)
		p := o.pathParameter(text)
		if p == nil {
			bare, pattern, _ := strings.Cut(text, ":")
			name := strings.Trim(bare, "+*")
			if p = o.pathParameter(name); p == nil {
				return fmt.Errorf("{%s} is not a parameter of the path", text)
			}
			p.slashes = p.slashes || name != bare || pattern == "path" || strings.Contains(pattern, ".*") || strings.Contains(pattern, ".+")
		}
		path.WriteString("{" + p.name + "}")
		rest = next
	}
}

func (o *operation) pathParameter(name string) *parameter {
	i := slices.IndexFunc(o.parameters, func(p *parameter) bool { return p.in == "path" && p.name == name })
	if i < 0 {
		return nil
	}
	return o.parameters[i]
}

// cutPlaceholder splits a text at the closing brace of a placeholder. The pattern in a placeholder
// may contain braces.
func cutPlaceholder(text string) (placeholder, rest string) {
	depth := 0
	for i, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// readResponses reads the successful responses.
func (o *operation) readResponses(d *document) {
	responses := o.from.at("responses")
	var medias []string
	var bodies []part
	for _, status := range responses.Names() {
		if len(status) != 3 || status[0] != '2' {
			continue
		}
		response, _, err := d.follow(responses.at(status))
		if err != nil || response.Object == nil {
			continue
		}
		if headers := response.Object.Object("headers").Names(); len(headers) <= maxAnswerHeaders {
			o.shape.Headers = append(o.shape.Headers, headers...)
		}
		content := response.at("content")
		for _, media := range content.Names() {
			medias = append(medias, media)
			if isJSON(media) {
				bodies = append(bodies, content.at(media))
			}
		}
	}
	others := slices.DeleteFunc(slices.Clone(medias), isJSON)
	medias = append(slices.DeleteFunc(slices.Clone(medias), func(m string) bool { return !isJSON(m) }), others...)
	if medias = slices.Compact(medias); len(medias) > 0 && len(medias) <= maxAnswerHeaders && !strings.ContainsAny(strings.Join(medias, ""), "\r\n") {
		o.accept = strings.Join(append(medias, "*/*;q=0.1"), ", ")
	}
	if len(bodies) != 1 || len(others) > 0 || o.method == http.MethodHead {
		return // an operation with several forms of response has no output schema
	}
	if outline, schema := d.outlineWithin(bodies[0].file, bodies[0].Get("schema")); outline != nil {
		o.output = schema
		o.shape.Object = true
		o.shape.Check = func(value any) error { return outline.check(value, "") }
	}
}

// tool returns the tool of the operation, with its input schema.
func (o *operation) tool(input *tree.Object) mcp.Tool {
	t := mcp.Tool{Name: o.name, Title: clip(o.from.Text("summary"), 100), Description: o.description(), Annotations: httptool.AnnotationsFor(o.method)}
	t.InputSchema = tree.Append(nil, input)
	if o.output != nil {
		t.OutputSchema = tree.Append(nil, o.output)
	}
	return t
}

func (o *operation) description() string {
	summary := cmp.Or(strings.TrimSpace(o.from.Text("summary")), strings.TrimSpace(o.item.Text("summary")))
	text := cmp.Or(strings.TrimSpace(o.from.Text("description")), strings.TrimSpace(o.item.Text("description")))
	if strings.HasPrefix(text, summary) {
		summary = ""
	}
	if o.from.True("deprecated") {
		summary = strings.TrimSpace("Deprecated. " + summary)
	}
	parts := slices.DeleteFunc([]string{summary, clip(text, maxToolDescription), o.method + " " + o.path}, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n\n")
}

// input returns the schema of the arguments. Parts deeper than cut accept anything; 0 means no cut,
// and references stay. ok reports whether the schema is within the limits.
func (o *operation) input(d *document, cut int) (schema *tree.Object, ok bool) {
	c := &converter{d: d, cut: cut, defs: tree.NewObject(), names: map[string]string{}}
	properties, required := tree.NewObject(), []any{}
	for _, p := range o.parameters {
		converted, _ := c.schema(p.schema.file, p.schema.Get("schema"), 1).(*tree.Object)
		if text := clip(p.description, maxInputText); text != "" {
			converted = describe(converted, text)
		}
		properties.Set(p.argument, converted)
		if p.required {
			required = append(required, p.argument)
		}
	}
	if o.body != nil {
		properties.Set("body", o.body.schema(c))
		if o.body.required {
			required = append(required, "body")
		}
	}
	schema = tree.NewObject("type", "object", "properties", properties)
	if len(required) > 0 {
		schema.Set("required", required)
	}
	schema.Set("additionalProperties", false)
	if c.defs.Len() > 0 {
		schema.Set("$defs", c.defs)
	}
	return schema, c.parts <= toolschema.MaxParts && toolschema.Fits(schema)
}

// describe sets the description of a schema to text. It keeps the notes at the end of the schema's
// own description.
func describe(schema *tree.Object, text string) *tree.Object {
	if own := schema.Text("description"); own != "" && !strings.Contains(text, own) {
		if i := strings.Index(own, "Default: "); i >= 0 {
			text += " " + own[i:]
		} else if strings.HasSuffix(own, "In base64.") {
			text += " In base64."
		}
	}
	schema.Set("description", text)
	return schema
}

// call runs the tool.
func (o *operation) call(ctx context.Context, client *httptool.Client, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	value, err := tree.ParseJSON(arguments)
	if err != nil {
		return nil, err
	}
	given, ok := value.(*tree.Object)
	if !ok {
		return nil, errors.New("expected an object")
	}
	r := &httptool.Request{Method: o.method, Header: http.Header{}, Credentials: o.credentials}
	if o.accept != "" {
		r.Header.Set("Accept", o.accept)
	}
	if err := o.values(given, r); err != nil {
		return nil, err
	}
	if o.base != nil {
		path := strings.TrimSuffix(o.base.EscapedPath(), "/") + r.URL.EscapedPath()
		query := r.URL.RawQuery
		if r.URL, err = httptool.ParseEscaped(o.base.Scheme+"://"+o.base.Host, path); err != nil {
			return nil, err
		}
		r.URL.RawQuery = query
	}
	if o.body != nil && given.Has("body") {
		data, media, err := o.body.encode(given.Get("body"))
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		r.Body = data
		r.Header.Set("Content-Type", media)
	}
	answer, err := client.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	return client.Result(answer, o.shape), nil
}
