package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/schema"
)

// SchemaOf returns the JSON Schema that [AddTool] infers from T: to change one
// thing of it and pass it as [Tool.InputSchema], or to build others from it. It
// panics if T has none, with the type, the field and the remedy. Which Go type
// becomes which schema is in docs/server.md.
//
// A type with a method MCPSchema() json.RawMessage has the schema that this
// returns, wherever it is used: so an enum or a union is written once.
func SchemaOf[T any]() json.RawMessage {
	t := reflect.TypeFor[T]()
	inferred, err := schema.For(t, schema.DocsOf(t))
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return inferred
}

// completeTool completes a tool's description from its types. The validators
// are those of the input and, where the output may not fit, of the output.
func completeTool(t *Tool, in, out reflect.Type, f any) (input, output *schema.Validator, err error) {
	if t.Description == "" {
		t.Description = schema.FuncDoc(f, in)
	}
	inferred, err := inferObject(in)
	switch {
	case t.InputSchema == nil && err != nil:
		return nil, nil, fmt.Errorf("input %v: %w", in, err)
	case t.InputSchema == nil:
		t.InputSchema = inferred
	case err == nil:
		if err := fitsType(t.InputSchema, inferred, ""); err != nil {
			return nil, nil, fmt.Errorf("input schema: %w, the input %v", err, in)
		}
	}
	if input, err = schema.Compile(t.InputSchema); err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	output, err = completeOutput(t, out)
	return input, output, err
}

// completeOutput is [completeTool] for the output.
func completeOutput(t *Tool, out reflect.Type) (*schema.Validator, error) {
	structured := isStructured(out)
	if t.OutputSchema != nil {
		if !structured && out.Kind() != reflect.Interface && out != reflect.TypeFor[CallToolResult]() && out != reflect.TypeFor[*CallToolResult]() {
			return nil, fmt.Errorf("OutputSchema is set, and an output of %v has no structured content: use a struct, or omit the schema", out)
		}
		return compileOutput(t.OutputSchema)
	}
	if !structured {
		return nil, nil
	}
	var err error
	if t.OutputSchema, err = schema.For(out, schema.DocsOf(out)); err != nil {
		return nil, fmt.Errorf("output %v: %w", out, err)
	}
	if schema.Certain(out) {
		return nil, nil
	}
	return compileOutput(t.OutputSchema)
}

// compileOutput makes the validator of an output schema; nil for none.
func compileOutput(output json.RawMessage) (*schema.Validator, error) {
	if output == nil {
		return nil, nil
	}
	validate, err := schema.Compile(output)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return validate, nil
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

// fitsType says where a schema that somebody wrote takes what the Go type behind
// the inferred one cannot be decoded from: then every call would fail.
func fitsType(written, inferred json.RawMessage, path string) error {
	wrote, can := string(jsonrpc.Get(written, "type")), string(jsonrpc.Get(inferred, "type"))
	wider := wrote == `"integer"` && can == `"number"`
	if len(wrote) > 0 && len(can) > 0 && wrote[0] == '"' && can[0] == '"' && wrote != can && !wider {
		return fmt.Errorf("%s: the type is %s, and %s in", path, wrote, can)
	}
	known := map[string]json.RawMessage{}
	var names []string
	jsonrpc.EachMember(jsonrpc.Get(inferred, "properties"), func(quoted, property []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		known[name], names = property, append(names, name)
		return true
	})
	closed := string(jsonrpc.Get(inferred, "additionalProperties")) == "false"
	var err error
	jsonrpc.EachMember(jsonrpc.Get(written, "properties"), func(quoted, property []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		switch can, ok := known[name]; {
		case ok:
			err = fitsType(property, can, joinPath(path, name))
		case closed:
			err = fmt.Errorf("%q is not a member of", joinPath(path, name))
			if meant := nearest.Name(name, names); meant != "" {
				err = fmt.Errorf("%q (did you mean %q?) is not a member of", joinPath(path, name), joinPath(path, meant))
			}
		}
		return err == nil
	})
	return err
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
