package schema

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A Codec encodes and decodes the values of one type, which is usually from another module.
type Codec struct {
	Type      reflect.Type
	marshal   *json.Marshalers
	unmarshal *json.Unmarshalers
}

// CodecOf returns the Codec of T. The JSON of a value is one valid JSON value.
func CodecOf[T any](encode func(T) ([]byte, error), decode func([]byte) (T, error)) Codec {
	return Codec{
		Type:    reflect.TypeFor[T](),
		marshal: json.MarshalFunc(encode),
		unmarshal: json.UnmarshalFunc(func(data []byte, v *T) error {
			value, err := decode(data)
			if err == nil {
				*v = value
			}
			return err
		}),
	}
}

// Codecs is the dialect of [Encode] and [Decode] with Codecs. A nil Codecs has none. It is immutable.
type Codecs struct{ sent, strict, loose json.Options }

// NewCodecs returns the Codecs of a list, or nil for an empty one. No type may occur twice.
func NewCodecs(list []Codec) (*Codecs, error) {
	if len(list) == 0 {
		return nil, nil
	}
	encoders := make([]*json.Marshalers, 0, len(list)+1)
	decoders := make([]*json.Unmarshalers, 0, len(list)+1)
	seen := map[reflect.Type]bool{}
	for _, c := range list {
		if c.Type == nil || seen[c.Type] {
			return nil, fmt.Errorf("the codec of %v is empty or occurs twice: give each type one", c.Type)
		}
		seen[c.Type] = true
		encoders, decoders = append(encoders, c.marshal), append(decoders, c.unmarshal)
	}
	encode := json.WithMarshalers(json.JoinMarshalers(append(encoders, ownMarshalers)...))
	decode := json.WithUnmarshalers(json.JoinUnmarshalers(append(decoders, ownUnmarshalers)...))
	return &Codecs{
		sent:   json.JoinOptions(sent, encode, decode),
		strict: json.JoinOptions(strict, encode, decode),
		loose:  json.JoinOptions(dialect, encode, decode),
	}, nil
}

// Encode is like the function [Encode].
func (c *Codecs) Encode(dst []byte, v any) ([]byte, error) {
	if c == nil {
		return Encode(dst, v)
	}
	return encode(dst, v, c.sent)
}

// EncodeMember is like the function [EncodeMember].
func (c *Codecs) EncodeMember(w *jsonrpc.Writer, name string, v any) error {
	return w.Encoded(name, func(dst []byte) ([]byte, error) { return c.Encode(dst, v) })
}

// Decode is like the function [Decode].
func (c *Codecs) Decode(raw []byte, v any) error {
	if c == nil {
		return Decode(raw, v)
	}
	return decode(raw, v, c.strict)
}

// DecodeLoose is like the function [DecodeLoose].
func (c *Codecs) DecodeLoose(raw []byte, v any) error {
	if c == nil {
		return DecodeLoose(raw, v)
	}
	return decode(raw, v, c.loose)
}
