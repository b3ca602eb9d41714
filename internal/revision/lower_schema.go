package revision

import (
	"bytes"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Legacy revisions require objects in places where JSON Schema also allows true and false, such as
// values of properties. Strict clients reject a whole list because of one boolean. The functions in
// this file therefore replace a boolean schema by the equivalent object, except where all revisions
// allow booleans, as in additionalProperties.

// A place tells which schemas the value of a JSON Schema keyword contains.
type place int

const (
	noSchema place = iota
	oneSchema
	eachSchema // a schema, or an array or object of schemas
	orBoolean  // a schema, or a boolean that is not replaced
)

var places = map[string]place{
	"properties": eachSchema, "patternProperties": eachSchema, "$defs": eachSchema, "definitions": eachSchema,
	"dependentSchemas": eachSchema, "dependencies": eachSchema,
	"allOf": eachSchema, "anyOf": eachSchema, "oneOf": eachSchema, "prefixItems": eachSchema,
	"items": oneSchema, "not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema,
	"contains": oneSchema, "propertyNames": oneSchema, "contentSchema": oneSchema,
	"additionalProperties": orBoolean, "unevaluatedProperties": orBoolean, "additionalItems": orBoolean, "unevaluatedItems": orBoolean,
}

// booleans are members of tools that are often true or false without being a schema to replace.
var booleans = []string{"additionalProperties", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// mayHoldBooleanSchema reports whether true or false may occur in the JSON as a schema.
func mayHoldBooleanSchema(body []byte) bool {
	for _, word := range []string{"true", "false"} {
		for at := 0; ; at += len(word) {
			i := bytes.Index(body[at:], []byte(word))
			if i < 0 {
				break
			}
			at += i
			before := bytes.TrimRight(body[:at], " \t\r\n")
			if len(before) == 0 {
				continue
			}
			switch before[len(before)-1] {
			case '[', ',':
				return true
			case ':':
				if isSchemaMember(bytes.TrimRight(before[:len(before)-1], " \t\r\n")) {
					return true
				}
			}
		}
	}
	return false
}

// isSchemaMember reports whether the JSON text before a value ends in the name of a member that may
// contain a schema. If it ends otherwise, the value is within a string.
func isSchemaMember(before []byte) bool {
	if !bytes.HasSuffix(before, []byte(`"`)) {
		return false
	}
	name := before[:len(before)-1]
	return !slices.ContainsFunc(booleans, func(known string) bool {
		rest, ok := bytes.CutSuffix(name, []byte(known))
		return ok && bytes.HasSuffix(rest, []byte(`"`))
	})
}

// lowerSchemas returns a tool with its schemas in the form of legacy revisions.
func lowerSchemas(tool []byte) []byte {
	for _, name := range []string{"inputSchema", "outputSchema"} {
		schema := jsonrpc.Get(tool, name)
		if len(schema) == 0 || !holdsBoolean(schema, oneSchema) {
			continue
		}
		lowered := appendSchema(nil, schema)
		if !isObject(schema) { // an input schema must describe an object
			lowered = jsonrpc.With(lowered, "type", []byte(`"object"`))
		}
		tool = jsonrpc.With(tool, name, lowered)
	}
	return tool
}

// holdsBoolean reports whether a schema is or contains a boolean that must be replaced by an
// object.
func holdsBoolean(value []byte, at place) (holds bool) {
	switch value[0] {
	case 't', 'f':
		return at == oneSchema
	case '[':
		jsonrpc.EachElement(value, func(one []byte) bool {
			holds = holdsBoolean(one, oneSchema)
			return !holds
		})
	case '{':
		jsonrpc.EachMember(value, func(quoted, one []byte) bool {
			if at == eachSchema {
				holds = holdsBoolean(one, oneSchema)
			} else if next := placeOf(quoted); next != noSchema {
				holds = holdsBoolean(one, next)
			}
			return !holds
		})
	}
	return holds
}

func placeOf(quoted []byte) place {
	name, _ := jsonrpc.Unquote(quoted)
	return places[name]
}

// appendSchema appends a schema, or an array of schemas, without boolean schemas.
func appendSchema(dst, schema []byte) []byte {
	switch {
	case schema[0] == 't':
		return append(dst, `{}`...)
	case schema[0] == 'f':
		return append(dst, `{"not":{}}`...)
	case schema[0] == '[':
		w := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(schema, func(one []byte) bool {
			_ = w.EncodedElement(func(dst []byte) ([]byte, error) { return appendSchema(dst, one), nil })
			return true
		})
		return w.Bytes()
	case schema[0] == '{':
		return appendMembers(dst, schema, placeOf)
	}
	return append(dst, schema...)
}

// appendMembers appends an object. The function at returns where the values of its members contain
// schemas.
func appendMembers(dst, object []byte, at func(quoted []byte) place) []byte {
	w := jsonrpc.NewObject(dst)
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		_ = w.EncodedQuoted(quoted, func(dst []byte) ([]byte, error) { // never fails
			switch p := at(quoted); {
			case p == eachSchema && isObject(value):
				return appendMembers(dst, value, func([]byte) place { return oneSchema }), nil
			case p == oneSchema, (p == eachSchema || p == orBoolean) && value[0] != 't' && value[0] != 'f':
				return appendSchema(dst, value), nil
			}
			return append(dst, value...), nil
		})
		return true
	})
	return w.Bytes()
}
