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

// A Tool is the description of a tool (server/tools, schema.ts Tool).
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Description  string           `json:"description,omitempty"`
	Icons        []Icon           `json:"icons,omitempty"`
	InputSchema  json.RawMessage  `json:"inputSchema"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`
	Meta         json.RawMessage  `json:"_meta,omitzero"`

	// TextOnly, for [AddToolWith], sends the function's return value only as text; a struct becomes
	// its JSON. There is no structured content and no OutputSchema. The field is not sent.
	TextOnly bool `json:"-"`

	// MoreArguments, for [AddToolWith], accepts arguments that In lacks: those in InputSchema or,
	// without one, any. In the context of the function, [Request.Arguments] has all arguments, as
	// they were checked and with defaults. The field is not sent.
	MoreArguments bool `json:"-"`
}

// ToolAnnotations are hints about a tool's effects. They are claims of the server: do not trust the
// hints of an untrusted server. A nil hint was not declared, and has the default value in the
// specification, which is given at each field.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // does not change anything; default false
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // may destroy or overwrite, not only add; default true
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // a repeated call has no further effect; default false
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // reaches systems outside the server; default true
}

// ReadsOnly reports whether the annotations claim that a tool changes nothing. The receiver may be
// nil.
func (a *ToolAnnotations) ReadsOnly() bool {
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// A CallToolResult is the result of a tool (schema.ts CallToolResult).
type CallToolResult struct {
	// Content is the output for the model.
	Content []Content
	// StructuredContent is the output for programs, which may be any JSON value. Nil means none;
	// json.RawMessage("null") is a value.
	StructuredContent json.RawMessage
	// IsError reports that the tool failed. Content should then contain the reason, so that the
	// model can correct its call.
	IsError bool
	// Meta is _meta: one JSON object, or nil.
	Meta json.RawMessage
}

// result returns r as a Result. For nil, it returns an empty one.
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

// MarshalJSON encodes the result, including Meta.
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

// A ToolHandler runs a tool whose schema is known only at run time. The arguments are one JSON
// object that was validated against the tool's input schema. Errors are handled as by [AddTool]. A
// nil result means an empty one.
type ToolHandler func(ctx context.Context, arguments json.RawMessage) (*CallToolResult, error)

// A runTool handles one call whose arguments have not been validated.
type runTool func(ctx context.Context, arguments json.RawMessage) (Result, error)

// A tool is a registered tool.
type tool struct {
	Tool
	run     runTool
	headers []paramheader.Field // arguments that HTTP clients repeat in headers
}

// AddTool registers f as a tool. The input schema is inferred from In and its struct tags (json,
// doc, title, min, max, enum, pattern, format, default, required, header), and the output schema
// from Out. Descriptions come from the doc comments that `go generate` collected (see cmd/mcpdoc).
//
// Arguments are validated before f runs. A call with invalid arguments gets a tool error that names
// the argument, the expected value and the received one.
//
// If Out is a string, the result is one block of text. A [Content], []Content or *[CallToolResult]
// is used unchanged. A struct{} means an empty result. Any other Out becomes structured content,
// for programs. For models, the result also contains its JSON as text or, if it has a method
// Content() []Content, the result of that method. An [Output] is one of these, with separate
// content, metadata or a failure.
//
// An error of f becomes a tool error that the model can read. There are two exceptions:
// [ErrInputRequired], and an [*Error] of this server, which becomes a protocol error. An error of
// another server, which a [Client] returned, becomes a tool error. A panic in f fails only its own
// call.
//
// AddTool panics if the program has a mistake. In and Out must have schemas. Each struct tag must
// be one of the above, and must fit its field. The name must not be in use, and must consist of
// letters, digits, '_', '-', '.' and '/'. The panic names the type, the field and the remedy. Tools
// can be added while the server runs; clients that listen are notified.
func AddTool[In, Out any](s *Server, name string, f func(context.Context, In) (Out, error)) {
	AddToolWith(s, Tool{Name: name}, f)
}

// AddToolWith is like [AddTool], for a tool whose description contains more than its types.
// Non-zero fields of t take precedence over inferred ones. AddToolWith also panics if arguments in
// the InputSchema do not fit In; see [Tool.MoreArguments].
func AddToolWith[In, Out any](s *Server, t Tool, f func(context.Context, In) (Out, error)) {
	if f == nil {
		panic(fmt.Sprintf("mcp: tool %q: the function is nil", t.Name))
	}
	s.addTypedTool(t, reflect.TypeFor[In](), reflect.TypeFor[Out](), f, func(ctx context.Context, in any) (any, error) {
		return f(ctx, *in.(*In))
	})
}

// addTypedTool is the part of AddToolWith without type parameters, which is compiled only once. call
// calls f with the arguments that in points to.
func (s *Server) addTypedTool(t Tool, in, out reflect.Type, f any, call func(ctx context.Context, in any) (any, error)) {
	input, output, err := completeTool(&t, in, valueType(out), f, s.options.TypeSchemas, s.codecs)
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %q: %v", t.Name, err))
	}
	encode, decode := encoderFor(out, output, t.TextOnly, s.codecs), s.codecs.Decode
	if t.MoreArguments {
		decode = s.codecs.DecodeLoose // the schema has been checked
	}
	run := func(ctx context.Context, arguments json.RawMessage) (Result, error) {
		decoded := reflect.New(in).Interface()
		arguments, err := input.Complete(arguments)
		if err == nil {
			err = decode(arguments, decoded)
		}
		if err != nil {
			return Result{Value: ToolError("%v", err)}, nil
		}
		if t.MoreArguments {
			ctx = WithRequest(ctx, RequestFrom(ctx).WithArguments(arguments))
		}
		out, err := call(ctx, decoded)
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

// AddTool registers a tool whose input schema does not come from a Go type. Without an InputSchema,
// the tool accepts any object. Like the function [AddTool], it panics if the tool is invalid or the
// name is in use.
func (s *Server) AddTool(t Tool, f ToolHandler) { must(s.registerTool(t, f, adding)) }

// SetTool registers a tool from data, and replaces a tool with the same name. It returns an error
// if the tool is invalid. Any name is valid that can be sent to clients.
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

// Tool returns the list entry of a registered tool, or nil.
func (s *Server) Tool(name string) *Tool {
	t, ok := find[*tool](&s.tools, name)
	if !ok {
		return nil
	}
	return new(t.Tool)
}

// RemoveTool removes tools by name. It ignores unknown names.
func (s *Server) RemoveTool(names ...string) {
	s.tools.remove(names...)
}

// putTool registers a tool whose description is complete.
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
	if !s.tools.put(&entry{name: t.Name, listed: listed, feature: &tool{t, run, headers}}, how) {
		return taken("tool", t.Name, "SetTool")
	}
	return nil
}

// toolFailure returns protocol errors and the errors of cancelled calls as errors. It returns a
// tool error for any other failure, including an error of another server.
func toolFailure(ctx context.Context, err error) (Result, error) {
	var e *Error
	var required *ElicitationRequiredError
	if errors.As(err, &e) && e.Server == "" && errors.As(err, &required) {
		return required.answer(ctx, err)
	}
	if errors.As(err, &e) && e.Server == "" || errors.Is(err, ErrInputRequired) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return Result{}, err
	}
	return Result{Value: ToolError("%v", err)}, nil
}

// callTool handles tools/call.
func (s *Server) callTool(ctx context.Context, req *Request) (Result, error) {
	t, ok := find[*tool](&s.tools, req.Name)
	if !ok {
		return Result{}, Errorf(CodeInvalidParams, "unknown tool %q; tools/list names those that exist", req.SentName())
	}
	arguments := req.Arguments
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = json.RawMessage(`{}`)
	case arguments[0] != '{':
		return Result{}, Errorf(CodeInvalidParams, "tool %q: arguments: expected an object", req.Name)
	}
	if req.ParamHeaders != nil && len(t.headers) > 0 {
		if err := paramheader.Check(t.headers, arguments, req.ParamHeaders); err != nil {
			return Result{}, Errorf(CodeHeaderMismatch, "tool %q: %v", req.Name, err)
		}
	}
	return t.run(ctx, arguments)
}
