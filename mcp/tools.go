package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/mirror"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	methodToolsList = "tools/list"
	methodToolsCall = "tools/call"
)

// A Tool is how a tool presents itself (server/tools, schema.ts Tool).
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Description  string           `json:"description,omitempty"`
	Icons        []Icon           `json:"icons,omitempty"`
	InputSchema  json.RawMessage  `json:"inputSchema"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`
	Meta         json.RawMessage  `json:"_meta,omitzero"`
}

// ToolAnnotations are hints about what a tool does. They are claims of the
// server; do not trust those of a server you do not trust. nil means unsaid,
// and then the specification's defaults hold, named at each field.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // changes nothing; default false
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // may destroy, not only add; default true
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // twice is the same as once; default false
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // deals with the outside world; default true
}

// A CallToolResult is what a tool answers (schema.ts CallToolResult).
type CallToolResult struct {
	// Content is what the model reads.
	Content []Content
	// StructuredContent is the answer as JSON of any type, for programs; nil if
	// there is none (the JSON null is a value: json.RawMessage("null")).
	StructuredContent json.RawMessage
	// IsError says that the tool failed; Content then says why, so that the
	// model can mend its call.
	IsError bool
	// Meta is _meta, one JSON object or nil.
	Meta json.RawMessage
}

// result is r as the answer of a Handler.
func (r *CallToolResult) result() Result {
	if r == nil {
		r = &CallToolResult{}
	}
	return Result{Value: r, Meta: r.Meta}
}

// ToolError returns the result of a tool that failed with the given text.
func ToolError(format string, args ...any) *CallToolResult {
	return &CallToolResult{Content: []Content{Textf(format, args...)}, IsError: true}
}

// AppendJSON appends the result as JSON, without Meta.
func (r *CallToolResult) AppendJSON(dst []byte) ([]byte, error) {
	dst, err := appendContents(append(dst, `{"content":`...), r.Content)
	if err != nil {
		return nil, err
	}
	if r.StructuredContent != nil {
		dst = append(append(dst, `,"structuredContent":`...), r.StructuredContent...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return append(dst, '}'), nil
}

// MarshalJSON encodes the result, Meta included.
func (r *CallToolResult) MarshalJSON() ([]byte, error) {
	dst, err := r.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	return append(appendMeta(dst[:len(dst)-1], r.Meta), '}'), nil
}

// UnmarshalJSON decodes a result.
func (r *CallToolResult) UnmarshalJSON(data []byte) error {
	var w struct {
		Content           []Content       `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		Meta              json.RawMessage `json:"_meta"`
	}
	if err := schema.DecodeLoose(data, &w); err != nil {
		return err
	}
	*r = CallToolResult(w)
	return nil
}

// A ToolHandler runs a tool whose schema is known only at run time. arguments
// is one JSON object that was checked against the tool's input schema. See
// [AddTool] for what the error means; a nil result is an empty one.
type ToolHandler func(ctx context.Context, arguments json.RawMessage) (*CallToolResult, error)

// runTool answers one call whose arguments were not looked at yet.
type runTool func(ctx context.Context, arguments json.RawMessage) (Result, error)

// A tool is a registered tool.
type tool struct {
	run     runTool
	mirrors []mirror.Field // arguments that HTTP clients repeat in headers
}

// AddTool registers f as a tool. The input schema is inferred from In and its
// struct tags (json, doc, title, min, max, enum, pattern, format, default,
// required, header), the output schema from Out, and descriptions from the doc
// comments that `go generate` collected (see cmd/mcpdoc). with, at most one,
// gives what cannot be inferred, and wins over what was.
//
// Arguments are checked before f runs; a call that does not fit is answered
// with a tool error that says which argument, what was expected and what came.
//
// What Out becomes: a string is one block of text. A [Content], []Content or
// *[CallToolResult] is used as it is. struct{} is an empty result. Anything else
// is structured content, for programs; for models it is shown as the text of its
// JSON, or as what its method Content() []Content returns if it has one.
//
// An error of f becomes a tool error that the model can read, except an
// [*Error], which is answered as a protocol error, and [ErrInputRequired]. A
// panic in f costs this one call.
//
// AddTool panics if In or Out cannot be described by a schema: that is a
// mistake of the program, and the message names the type and the field.
// Tools can be added while the server runs; clients that listen are told.
func AddTool[In, Out any](s *Server, name string, f func(context.Context, In) (Out, error), with ...Tool) {
	t, validate, err := typedTool[In, Out](name, f, with)
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %q: %v", name, err))
	}
	encode := encoderFor[Out]()
	run := func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		in, err := decodeArguments[In](validate, arguments)
		if err != nil {
			return Result{Value: ToolError("%v", err)}, nil
		}
		out, err := f(ctx, in)
		if err != nil {
			return toolFailure(err)
		}
		return encode(out), nil
	}
	if err := s.addTool(t, run); err != nil {
		panic(fmt.Sprintf("mcp: tool %q: %v", name, err))
	}
}

// AddTool registers a tool whose input schema is known only at run time. The
// error says what is wrong with the name or a schema.
func (s *Server) AddTool(t Tool, f ToolHandler) error {
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	validate, err := schema.Compile(t.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	return s.addTool(t, func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		arguments = validate.ApplyDefaults(arguments)
		if err := validate.Validate(arguments); err != nil {
			return Result{Value: ToolError("%v", err)}, nil
		}
		result, err := f(ctx, arguments)
		if err != nil {
			return toolFailure(err)
		}
		return result.result(), nil
	})
}

// RemoveTool takes tools out; names that are not there are ignored.
func (s *Server) RemoveTool(names ...string) {
	if s.tools.remove(names...) {
		s.news.listChanged(newsTools)
	}
}

func (s *Server) addTool(t Tool, run runTool) error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	mirrors, err := mirror.Fields(t.InputSchema)
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	listed, err := schema.Encode(nil, t)
	if err != nil {
		return err
	}
	s.tools.set(&entry[tool]{name: t.Name, listed: listed, feature: tool{run, mirrors}})
	s.news.listChanged(newsTools)
	return nil
}

// typedTool completes a tool's description from its types.
func typedTool[In, Out any](name string, f any, with []Tool) (Tool, *schema.Validator, error) {
	var t Tool
	if len(with) > 0 {
		t = with[0]
	}
	t.Name = name
	in := reflect.TypeFor[In]()
	if t.Description == "" {
		t.Description = schema.FuncDoc(f, in)
	}
	var err error
	if t.InputSchema == nil {
		if t.InputSchema, err = inferObject(in); err != nil {
			return t, nil, fmt.Errorf("input %v: %w", in, err)
		}
	}
	out := reflect.TypeFor[Out]()
	if t.OutputSchema == nil && isStructured(out) {
		if t.OutputSchema, err = schema.For(out, schema.DocsOf(out)); err != nil {
			return t, nil, fmt.Errorf("output %v: %w", out, err)
		}
	}
	validate, err := schema.Compile(t.InputSchema)
	return t, validate, err
}

// inferObject infers the schema of arguments, which are an object always.
func inferObject(t reflect.Type) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return schema.For(t, schema.DocsOf(t))
	case reflect.Interface:
		return json.RawMessage(`{"type":"object"}`), nil
	}
	return nil, errors.New("arguments are an object: use a struct, or a map with string keys")
}

func decodeArguments[In any](validate *schema.Validator, arguments json.RawMessage) (in In, err error) {
	arguments = validate.ApplyDefaults(arguments)
	if err := validate.Validate(arguments); err != nil {
		return in, err
	}
	err = schema.Decode(arguments, &in)
	return in, err
}

// toolFailure tells errors of the protocol from failures of the tool.
func toolFailure(err error) (Result, error) {
	var e *Error
	if errors.As(err, &e) || errors.Is(err, ErrInputRequired) {
		return Result{}, err
	}
	return Result{Value: ToolError("%v", err)}, nil
}

// isStructured reports whether values of the type are answered as structured content.
func isStructured(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[Content](), reflect.TypeFor[[]Content](), reflect.TypeFor[*CallToolResult](), reflect.TypeFor[CallToolResult](), reflect.TypeFor[struct{}]():
		return false
	}
	return t.Kind() != reflect.String && t.Kind() != reflect.Interface
}

// encoderFor chooses, once per tool, what an Out becomes.
func encoderFor[Out any]() func(Out) Result {
	if isStructured(reflect.TypeFor[Out]()) {
		return func(out Out) Result { return Result{Value: &structured[Out]{out}} }
	}
	return func(out Out) Result { return unstructured(out) }
}

// unstructured answers with a value that is content already, or text.
func unstructured(out any) Result {
	switch v := out.(type) {
	case nil, struct{}:
		return Result{Value: &CallToolResult{}}
	case *CallToolResult:
		return v.result()
	case CallToolResult:
		return v.result()
	case Content:
		return Result{Value: &CallToolResult{Content: []Content{v}}}
	case []Content:
		return Result{Value: &CallToolResult{Content: v}}
	case string:
		return Result{Value: textResult(v)}
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.String {
		return Result{Value: textResult(v.String())}
	}
	return Result{Value: &structured[any]{out}}
}

// textResult is a result of one block of text, the most frequent of all.
type textResult string

func (t textResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = jsonrpc.AppendString(append(dst, `{"content":[{"type":"text","text":`...), string(t))
	return append(dst, `}]}`...), nil
}

// structured is a result whose value is encoded once and copied once, as text.
type structured[T any] struct{ value T }

func (s *structured[T]) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"structuredContent":`...)
	from := len(dst)
	dst, err := schema.Encode(dst, s.value)
	if err != nil {
		return nil, fmt.Errorf("encoding the tool's output: %w", err)
	}
	if shown, ok := any(s.value).(interface{ Content() []Content }); ok {
		if dst, err = appendContents(append(dst, `,"content":`...), shown.Content()); err != nil {
			return nil, err
		}
		return append(dst, '}'), nil
	}
	dst = jsonrpc.AppendStringBytes(append(dst, `,"content":[{"type":"text","text":`...), dst[from:])
	return append(dst, `}]}`...), nil
}

// callTool answers tools/call.
func (s *Server) callTool(ctx context.Context, req *Request) (Result, error) {
	e := s.tools.read("tools", s.pageSize).byName[req.Name]
	if e == nil {
		return Result{}, Errorf(CodeInvalidParams, "unknown tool %q; tools/list names those that exist", req.Name)
	}
	arguments := req.Arguments
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = json.RawMessage(`{}`)
	case arguments[0] != '{':
		return Result{}, Errorf(CodeInvalidParams, "tool %q: arguments: expected an object", req.Name)
	}
	if req.Mirrored != nil && len(e.feature.mirrors) > 0 {
		if err := mirror.Check(e.feature.mirrors, arguments, req.Mirrored); err != nil {
			return Result{}, Errorf(CodeHeaderMismatch, "tool %q: %v", req.Name, err)
		}
	}
	return e.feature.run(ctx, arguments)
}
