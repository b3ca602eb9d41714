package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// isStructured reports whether values of a type become structured content.
func isStructured(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[Content](), reflect.TypeFor[[]Content](), reflect.TypeFor[*CallToolResult](), reflect.TypeFor[CallToolResult](), reflect.TypeFor[struct{}]():
		return false
	}
	return t.Kind() != reflect.String && t.Kind() != reflect.Interface
}

// An Output is an output of a tool with more than a value: content for the model, metadata, or a
// failure.
type Output[T any] struct {
	// Value is the output of the tool. The output schema is the schema of T. A nil pointer means no
	// value, which is allowed only if the tool failed.
	Value T
	// Content is the content for the model. If it is nil, the content is made from Value.
	Content []Content
	// Meta is the result's _meta: one JSON object, or nil.
	Meta json.RawMessage
	// IsError reports that the tool failed. The schema of Value is then not checked.
	IsError bool
}

// output is an [Output] of any type.
type output interface {
	valueType() reflect.Type
	parts() Output[any]
}

func (Output[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

func (o Output[T]) parts() Output[any] { return Output[any]{o.Value, o.Content, o.Meta, o.IsError} }

// valueType returns the type from which the output schema of an Out is inferred.
func valueType(out reflect.Type) reflect.Type {
	if out.Kind() == reflect.Struct && out.Implements(reflect.TypeFor[output]()) {
		return reflect.Zero(out).Interface().(output).valueType()
	}
	return out
}

// outputEncoder is the encoderFor an [Output] with a value of type t.
func outputEncoder(t reflect.Type, check *schema.Validator, textOnly bool, codecs *schema.Codecs) func(any) (Result, error) {
	encode, encodeFailed := encoderFor(t, check, textOnly, codecs), encoderFor(t, nil, textOnly, codecs)
	return func(out any) (Result, error) {
		o := out.(output).parts()
		encode, result := encode, Result{}
		var err error
		if o.IsError {
			encode = encodeFailed
		}
		if !o.IsError || t.Kind() != reflect.Pointer || !reflect.ValueOf(o.Value).IsNil() {
			result, err = encode(o.Value)
		}
		if err != nil {
			return result, err
		}
		if o.Meta != nil {
			result.Meta = o.Meta
		}
		if o.Content == nil && !o.IsError {
			return result, nil
		}
		called, err := result.CallTool()
		if err != nil {
			return result, err
		}
		if called.IsError = o.IsError; o.Content != nil {
			called.Content = o.Content
		}
		return called.result(), nil
	}
}

// encoderFor chooses, once per tool, how an Out of type t is encoded. check is nil if every Out fits
// the output schema. Otherwise the value is encoded at once so that it can be checked.
func encoderFor(t reflect.Type, check *schema.Validator, textOnly bool, codecs *schema.Codecs) func(any) (Result, error) {
	switch {
	case valueType(t) != t:
		return outputEncoder(valueType(t), check, textOnly, codecs)
	case !isStructured(t):
		return func(out any) (Result, error) {
			if t.Kind() == reflect.Pointer && reflect.ValueOf(out).IsNil() {
				return Result{}, fmt.Errorf("the function returned a nil %v without an error", t)
			}
			result := unstructured(out, codecs)
			return result, checkResult(check, &result)
		}
	}
	return func(out any) (Result, error) {
		if t.Kind() == reflect.Pointer && reflect.ValueOf(out).IsNil() {
			return Result{}, fmt.Errorf("the function returned a nil %v without an error", t)
		}
		if textOnly {
			return asText(out, codecs)
		}
		s := &structured{value: out, codecs: codecs}
		if check == nil {
			return Result{Value: s}, nil
		}
		var err error
		if s.encoded, err = codecs.Encode(nil, out); err == nil {
			err = check.Validate(s.encoded)
		}
		return Result{Value: s}, err
	}
}

// asText returns a result that contains the value only as text, for models.
func asText(out any, codecs *schema.Codecs) (Result, error) {
	if shown, ok := out.(interface{ Content() []Content }); ok {
		return Result{Value: &CallToolResult{Content: shown.Content()}}, nil
	}
	text, err := codecs.Encode(nil, out)
	return Result{Value: textResult(text)}, err
}

// checkResult is like checkOutput, for the result of an Out that is content, text, or an interface
// type.
func checkResult(check *schema.Validator, result *Result) error {
	if check == nil {
		return nil
	}
	if r, ok := result.Value.(*CallToolResult); ok {
		return checkOutput(check, r)
	}
	encoded, err := result.Encoded()
	if err != nil {
		return err
	}
	r := new(CallToolResult)
	if err := r.UnmarshalJSON(encoded); err != nil {
		return err
	}
	return checkOutput(check, r)
}

// checkOutput validates structured content against the output schema, if there is one. If the tool
// failed, structured content is not needed.
func checkOutput(check *schema.Validator, r *CallToolResult) error {
	switch {
	case check == nil, r != nil && r.IsError:
		return nil
	case r == nil || r.StructuredContent == nil:
		return errors.New("there is no structured content")
	}
	return check.Validate(r.StructuredContent)
}

// badOutput returns the error for an output that does not fit the tool's output schema. It also
// logs the error, as it is a bug in the program.
func (s *Server) badOutput(tool string, err error) *Error {
	s.log.Error("mcp: the output of a tool does not fit its output schema", "tool", tool, "error", err)
	return Errorf(CodeInternalError, "tool %q failed: its output does not fit its output schema: %v", tool, err)
}

// unstructured returns the result for a value that is content or text.
func unstructured(out any, codecs *schema.Codecs) Result {
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
	return Result{Value: &structured{value: out, codecs: codecs}}
}

// A textResult is a result with one block of text. Most results are of this kind.
type textResult string

func (t textResult) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.Array("content")
	w.ObjectElement()
	w.String("type", ContentText)
	w.String("text", string(t))
	return w.Bytes(), nil
}

// A structured is a result whose value is encoded once, and also sent as a block of text.
type structured struct {
	value   any
	codecs  *schema.Codecs
	encoded json.RawMessage // the encoded value, if the check needed it
}

func (s *structured) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	encoded := []byte(s.encoded)
	err := w.Encoded("structuredContent", func(dst []byte) ([]byte, error) {
		if encoded != nil {
			return append(dst, encoded...), nil
		}
		from := len(dst)
		dst, err := s.codecs.Encode(dst, s.value)
		if err == nil {
			encoded = dst[from:]
		}
		return dst, err
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the tool's output: %w", err)
	}
	if shown, ok := s.value.(interface{ Content() []Content }); ok {
		if err := writeContents(&w, shown.Content()); err != nil {
			return nil, err
		}
		return w.Bytes(), nil
	}
	w.Array("content")
	w.ObjectElement()
	w.String("type", ContentText)
	w.StringBytes("text", encoded)
	return w.Bytes(), nil
}
