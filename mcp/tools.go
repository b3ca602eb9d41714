package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/paramheader"
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

	// TextOnly, for [AddToolWith], sends what the function returns as text alone,
	// the JSON of a struct too: there is no structured content, and no OutputSchema.
	// It does not travel.
	TextOnly bool `json:"-"`
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

// ReadsOnly reports whether the annotations, which may be nil, declare that a tool changes nothing.
func (a *ToolAnnotations) ReadsOnly() bool {
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// A CallToolResult is what a tool answers (schema.ts CallToolResult).
type CallToolResult struct {
	// Content is what the model reads.
	Content []Content
	// StructuredContent is the output as JSON of any type, for programs; nil if
	// there is none (the JSON null is a value: json.RawMessage("null")).
	StructuredContent json.RawMessage
	// IsError says that the tool failed; Content then says why, so that the
	// model can mend its call.
	IsError bool
	// Meta is _meta, one JSON object or nil.
	Meta json.RawMessage
}

// result is r as a Handler returns it.
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
func (r *CallToolResult) AppendJSON(dst []byte) ([]byte, error) { return r.appendWith(dst, nil) }

// MarshalJSON encodes the result, Meta included.
func (r *CallToolResult) MarshalJSON() ([]byte, error) { return r.appendWith(nil, r.Meta) }

func (r *CallToolResult) appendWith(dst []byte, meta json.RawMessage) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	if err := writeContents(&w, r.Content); err != nil {
		return nil, err
	}
	if structured := r.StructuredContent; structured != nil {
		if !utf8.Valid(structured) {
			structured = bytes.ToValidUTF8(structured, []byte("\ufffd"))
		}
		w.Raw("structuredContent", structured)
	}
	if r.IsError {
		w.Bool("isError", true)
	}
	writeMeta(&w, meta)
	return w.Bytes(), nil
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
	Tool
	run     runTool
	headers []paramheader.Field // arguments that HTTP clients repeat in headers
}

// AddTool registers f as a tool. The input schema is inferred from In and its
// struct tags (json, doc, title, min, max, enum, pattern, format, default,
// required, header), the output schema from Out, and descriptions from the doc
// comments that `go generate` collected (see cmd/mcpdoc).
//
// Arguments are checked before f runs; a call that does not fit is answered
// with a tool error that says which argument, what was expected and what came.
//
// What Out becomes: a string is one block of text. A [Content], []Content or
// *[CallToolResult] is used as it is. struct{} is an empty result. Anything else
// is structured content, for programs; for models it is shown as the text of its
// JSON, or as what its method Content() []Content returns if it has one. An
// [Output] is one of these with content, metadata or a failure of its own.
//
// An error of f becomes a tool error that the model can read, except an
// [*Error] of this server, which is answered as a protocol error, and
// [ErrInputRequired]. An error of another server, which a [Client] returned, is a
// failure of the tool like any other. A panic in f fails only the call it
// happened in.
//
// AddTool panics at a mistake of the program: if In or Out cannot be described
// by a schema, if a struct tag is not one of the above or does not fit its field,
// and if the name is taken or not made of letters, digits, '_', '-', '.' and '/'.
// The message names the type, the field and the remedy. Tools can be added while
// the server runs; clients that listen are notified.
func AddTool[In, Out any](s *Server, name string, f func(context.Context, In) (Out, error)) {
	AddToolWith(s, Tool{Name: name}, f)
}

// AddToolWith is [AddTool] for a tool of which more is said than its types say.
// The fields of t that are not zero win over what is inferred. It also panics if
// the InputSchema has arguments that do not fit In.
func AddToolWith[In, Out any](s *Server, t Tool, f func(context.Context, In) (Out, error)) {
	if f == nil {
		panic(fmt.Sprintf("mcp: tool %q: the function is nil", t.Name))
	}
	input, output, err := completeTool(&t, reflect.TypeFor[In](), valueType[Out](), f, s.options.TypeSchemas)
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %q: %v", t.Name, err))
	}
	encode := encoderFor[Out](output, t.TextOnly)
	run := func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		in, err := decodeArguments[In](input, arguments)
		if err != nil {
			return Result{Value: ToolError("%v", err)}, nil
		}
		out, err := f(ctx, in)
		if err != nil {
			return toolFailure(ctx, err)
		}
		result, err := encode(out)
		if err != nil {
			return Result{}, s.badOutput(t.Name, err)
		}
		return result, nil
	}
	must(s.putTool(t, run, adding))
}

// AddTool registers a tool whose input schema is not that of a Go type. Without
// an InputSchema any object is accepted. It panics at a mistake and where the
// name is taken, as the function [AddTool] does.
func (s *Server) AddTool(t Tool, f ToolHandler) { must(s.registerTool(t, f, adding)) }

// SetTool registers a tool that comes from data, in place of the one of that
// name if there is one. The error says what is wrong with it. Of the name it
// asks only that clients can be sent it.
func (s *Server) SetTool(t Tool, f ToolHandler) error { return s.registerTool(t, f, setting) }

func (s *Server) registerTool(t Tool, f ToolHandler, how registration) error {
	if f == nil {
		return fmt.Errorf("tool %q: the handler is nil", t.Name)
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{}`)
	}
	validate, err := schema.Compile(t.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	output, err := compileOutput(t.OutputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return s.putTool(t, func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		arguments, err := validate.Complete(arguments)
		if err != nil {
			return Result{Value: ToolError("%v", err)}, nil
		}
		result, err := f(ctx, arguments)
		if err != nil {
			return toolFailure(ctx, err)
		}
		if err := checkOutput(output, result); err != nil {
			return Result{}, s.badOutput(t.Name, err)
		}
		return result.result(), nil
	}, how)
}

// Tool returns a registered tool as it is listed, or nil.
func (s *Server) Tool(name string) *Tool {
	e := s.tools.read().byName[name]
	if e == nil {
		return nil
	}
	t := e.feature.Tool
	return &t
}

// RemoveTool removes tools; unknown names are ignored.
func (s *Server) RemoveTool(names ...string) {
	s.tools.remove(names...)
}

// putTool enters a tool that is complete.
func (s *Server) putTool(t Tool, run runTool, how registration) error {
	if err := checkToolName(t.Name, how); err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	var err error
	if t.InputSchema, err = ofObject(t.InputSchema); err != nil {
		return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	headers, err := paramheader.Fields(t.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	listed, err := schema.Encode(nil, t)
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	if !s.tools.put(&entry[tool]{name: t.Name, listed: listed, feature: tool{t, run, headers}}, how) {
		return taken("tool", t.Name, "SetTool")
	}
	return nil
}

func decodeArguments[In any](validate *schema.Validator, arguments json.RawMessage) (in In, err error) {
	if arguments, err = validate.Complete(arguments); err == nil {
		err = schema.Decode(arguments, &in)
	}
	return in, err
}

// toolFailure tells errors of the protocol, and calls that nobody waits for any
// more, from failures of the tool. An error of another server is a failure.
func toolFailure(ctx context.Context, err error) (Result, error) {
	var e *Error
	if errors.As(err, &e) && e.Server == "" || errors.Is(err, ErrInputRequired) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return Result{}, err
	}
	return Result{Value: ToolError("%v", err)}, nil
}

// callTool answers tools/call.
func (s *Server) callTool(ctx context.Context, req *Request) (Result, error) {
	e := s.tools.read().byName[req.Name]
	if e == nil {
		return Result{}, Errorf(CodeInvalidParams, "unknown tool %q; tools/list names those that exist", req.SentName())
	}
	arguments := req.Arguments
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = json.RawMessage(`{}`)
	case arguments[0] != '{':
		return Result{}, Errorf(CodeInvalidParams, "tool %q: arguments: expected an object", req.Name)
	}
	if req.ParamHeaders != nil && len(e.feature.headers) > 0 {
		if err := paramheader.Check(e.feature.headers, arguments, req.ParamHeaders); err != nil {
			return Result{}, Errorf(CodeHeaderMismatch, "tool %q: %v", req.Name, err)
		}
	}
	return e.feature.run(ctx, arguments)
}
