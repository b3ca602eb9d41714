package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/schema"
)

// TypeSchemas contains JSON Schemas for types that have no method MCPSchema, such as types of other
// modules.
type TypeSchemas map[reflect.Type]json.RawMessage

// SchemaOf returns the JSON Schema that [AddTool] infers from T. Use it to change a detail and pass
// the result as [Tool.InputSchema], or to build other schemas. SchemaOf panics if T has no schema.
// The panic names the type, the field and the remedy. The rules from Go types to schemas are in
// docs/server.md.
//
// If a type has a method MCPSchema() json.RawMessage, its schema is the result of that method in
// every place. So an enum or a union is written only once. For types of other modules, use
// [SchemaWith] and [ServerOptions.TypeSchemas].
func SchemaOf[T any]() json.RawMessage { return SchemaWith[T](nil) }

// SchemaWith is like [SchemaOf], with schemas for types of other modules inside T.
func SchemaWith[T any](types TypeSchemas) json.RawMessage {
	t := reflect.TypeFor[T]()
	inferred, err := schema.For(t, types.of(t))
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return inferred
}

// of returns the options for inferring the schema of t.
func (types TypeSchemas) of(t reflect.Type) schema.Options {
	return schema.Options{Docs: schema.DocsOf(t), Types: types}
}

// completeTool completes a tool's description from its types. It returns the validator of the
// input. If the output may not fit its schema, it also returns the validator of the output.
func completeTool(t *Tool, in, out reflect.Type, f any, types TypeSchemas, codecs *schema.Codecs) (input, output *schema.Validator, err error) {
	if t.Description == "" {
		t.Description = schema.FuncDoc(f, in)
	}
	inferred, err := inferObject(in, types, codecs)
	if err == nil && t.MoreArguments {
		inferred = jsonrpc.Without(inferred, "additionalProperties")
	}
	switch {
	case t.InputSchema == nil && err != nil:
		return nil, nil, fmt.Errorf("input %v: %w", in, err)
	case t.InputSchema == nil:
		t.InputSchema = inferred
	case err == nil:
		if err := fitsType(schema.Look(t.InputSchema), schema.Look(inferred), ""); err != nil {
			return nil, nil, fmt.Errorf("input schema: %w, the input %v", err, in)
		}
	}
	if input, err = schema.Compile(t.InputSchema); err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	output, err = completeOutput(t, out, types)
	return input, output, err
}

// completeOutput does the same as [completeTool] for the output.
func completeOutput(t *Tool, out reflect.Type, types TypeSchemas) (*schema.Validator, error) {
	structured := isStructured(out) && !t.TextOnly
	if t.OutputSchema != nil {
		if !structured && out.Kind() != reflect.Interface && out != reflect.TypeFor[CallToolResult]() && out != reflect.TypeFor[*CallToolResult]() {
			return nil, fmt.Errorf("OutputSchema is set, but an output of %v has no structured content: use a struct without TextOnly, or omit the schema", out)
		}
		return compileOutput(t.OutputSchema)
	}
	if !structured {
		return nil, nil
	}
	var certain bool
	var err error
	if t.OutputSchema, certain, err = schema.ForOutput(out, types.of(out)); err != nil {
		return nil, fmt.Errorf("output %v: %w", out, err)
	}
	if certain {
		return nil, nil
	}
	return compileOutput(t.OutputSchema)
}

// compileOutput returns the validator of an output schema, or nil if there is no schema.
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

// inferObject infers the schema of arguments, which are always one object.
func inferObject(t reflect.Type, types TypeSchemas, codecs *schema.Codecs) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		o := types.of(t)
		o.Codecs = codecs
		inferred, err := schema.For(t, o)
		if err == nil {
			err = schema.ReadsObjects(t)
		}
		if err != nil {
			return nil, err
		}
		return ofObject(inferred)
	case reflect.Interface:
		return ofObject(json.RawMessage(`{}`))
	}
	return nil, errNoObject
}

var errNoObject = errors.New("arguments are an object: use a struct, or a map with string keys")

// ofObject adds the type to the schema of arguments if it is missing. The schema must declare an
// object (schema.ts Tool), as clients that check it otherwise reject the whole list.
func ofObject(input json.RawMessage) (json.RawMessage, error) {
	switch kind := jsonrpc.Get(input, "type"); {
	case string(kind) == `"object"`:
		return input, nil
	case kind != nil:
		return nil, fmt.Errorf("the type is %s: %w", kind, errNoObject)
	case len(bytes.TrimLeft(input, " \t\r\n")) == 0 || bytes.TrimLeft(input, " \t\r\n")[0] != '{':
		return nil, fmt.Errorf("expected a schema with \"type\":\"object\", got %.40s", input)
	}
	return jsonrpc.With(input, "type", []byte(`"object"`)), nil
}

// fitsType returns an error if a written schema accepts values that a Go type cannot decode. Every
// call with such a value would fail. The error names the place. inferred is the schema of the Go
// type.
func fitsType(written, inferred schema.View, path string) error {
	wrote, can := string(written.Get("type")), string(inferred.Get("type"))
	wider := wrote == `"integer"` && can == `"number"`
	if len(wrote) > 0 && len(can) > 0 && wrote[0] == '"' && can[0] == '"' && wrote != can && !wider {
		return fmt.Errorf("%s: the type is %s, and %s in", path, wrote, can)
	}
	known := map[string]schema.View{}
	var names []string
	for p := range inferred.Properties() {
		known[p.Name], names = p.View, append(names, p.Name)
	}
	closed := string(inferred.Get("additionalProperties")) == "false"
	for p := range written.Properties() {
		var err error
		switch can, ok := known[p.Name]; {
		case ok:
			err = fitsType(p.View, can, joinPath(path, p.Name))
		case closed:
			err = fmt.Errorf("%q is not a member of", joinPath(path, p.Name))
			if meant := nearest.Name(p.Name, names); meant != "" {
				err = fmt.Errorf("%q (did you mean %q?) is not a member of", joinPath(path, p.Name), joinPath(path, meant))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
