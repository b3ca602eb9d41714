package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/junction-mcp/junction/internal/schema"
)

// A TypeCodec is the form of a Go type in JSON: its schema, and functions that encode and decode
// values. It is meant for types of other modules, whose own form does not suit clients. For types
// whose form suits, use [TypeSchemas].
type TypeCodec struct {
	schema json.RawMessage
	codec  schema.Codec
}

// CodecOf returns the codec of T. The schema describes the JSON that encode returns and that decode
// accepts. Both get and return one JSON value. An error of decode becomes a tool error that names the
// argument, and should state the expected value. CodecOf panics if an argument is nil.
func CodecOf[T any](jsonSchema json.RawMessage, encode func(T) (json.RawMessage, error), decode func(json.RawMessage) (T, error)) TypeCodec {
	if jsonSchema == nil || encode == nil || decode == nil {
		panic(fmt.Sprintf("mcp: the codec of %v: a schema and both functions are needed", reflect.TypeFor[T]()))
	}
	return TypeCodec{
		schema: jsonSchema,
		codec: schema.CodecOf(
			func(v T) ([]byte, error) { return encode(v) },
			func(data []byte) (T, error) { return decode(bytes.Clone(data)) },
		),
	}
}

// joinCodecs returns the codecs of a list, and the schemas of types with those of the codecs. It
// panics if a type occurs twice.
func joinCodecs(list []TypeCodec, types TypeSchemas) (*schema.Codecs, TypeSchemas) {
	if len(list) == 0 {
		return nil, types
	}
	all := make(TypeSchemas, len(types)+len(list))
	for t, s := range types {
		all[t] = s
	}
	codecs := make([]schema.Codec, len(list))
	for i, c := range list {
		codecs[i] = c.codec
		all[c.codec.Type] = c.schema
	}
	joined, err := schema.NewCodecs(codecs)
	must(err)
	return joined, all
}
