package schema

import (
	"bytes"
	"cmp"
	standard "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// dialect is the only dialect of JSON in Junction. It is the dialect of encoding/json/v2 with two
// differences: Go types have the same form as in encoding/json, and durations are strings.
var dialect = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.StringifyWithLegacySemantics(true),
	jsonv1.FormatByteArrayAsArray(true),
	jsonv1.FormatBytesWithLegacySemantics(true),
	json.WithMarshalers(ownMarshalers),
	json.WithUnmarshalers(ownUnmarshalers),
)

// Codecs of types for which the dialect has a form of its own.
var (
	ownMarshalers   = json.JoinMarshalers(json.MarshalToFunc(encodeDuration), json.MarshalToFunc(encodeNumber))
	ownUnmarshalers = json.JoinUnmarshalers(json.UnmarshalFromFunc(decodeDuration), json.UnmarshalFromFunc(decodeNumber))
)

// strict is the dialect of JSON that Junction receives in requests.
var strict = json.JoinOptions(dialect, json.RejectUnknownMembers(true))

// sent is the dialect of JSON that Junction sends. Equal values are encoded as equal texts in valid
// UTF-8. Every type that encoding/json accepts can be encoded.
var sent = json.JoinOptions(
	dialect,
	json.Deterministic(true),
	jsontext.AllowInvalidUTF8(true), // such bytes are written as U+FFFD
	jsonv1.ReportErrorsWithLegacySemantics(true),
)

// Decode decodes raw into v, which must be a pointer. Names are case-sensitive. Unknown members,
// duplicate names and invalid UTF-8 are errors. As in JSON Schema, an integer may have a fraction
// or an exponent if its value is an integer (1.0, 1e3). An error contains the path of the wrong
// value. It is an [*Error], unless raw is not valid JSON.
func Decode(raw []byte, v any) error { return decode(raw, v, strict) }

// DecodeLoose is like [Decode], but ignores unknown members. It is meant for responses of other
// programs.
func DecodeLoose(raw []byte, v any) error { return decode(raw, v, dialect) }

// Encode appends v to dst as compact JSON. The JSON has the same form as in encoding/json, except
// for the differences in the package's documentation. If it returns an error, it returns dst
// unchanged.
func Encode(dst []byte, v any) ([]byte, error) { return encode(dst, v, sent) }

func encode(dst []byte, v any, options json.Options) ([]byte, error) {
	text, err := json.Marshal(v, options)
	if err != nil {
		return dst, fmt.Errorf("cannot encode %T as JSON: %w", v, err)
	}
	if len(dst) == 0 && cap(dst) < len(text) {
		return text, nil
	}
	return append(dst, text...), nil
}

// EncodeMember writes a member whose value is v, encoded as [Encode] does. If it returns an error,
// it writes nothing.
func EncodeMember(w *jsonrpc.Writer, name string, v any) error {
	return w.Encoded(name, func(dst []byte) ([]byte, error) { return Encode(dst, v) })
}

// encodeNumber and decodeNumber encode and decode a json.Number as a JSON number.
func encodeNumber(e *jsontext.Encoder, n standard.Number) error {
	return jsonv1.Number(n).MarshalJSONTo(e)
}

func decodeNumber(d *jsontext.Decoder, n *standard.Number) error {
	return (*jsonv1.Number)(n).UnmarshalJSONFrom(d)
}

func decode(raw []byte, v any, options json.Options) error {
	err := json.Unmarshal(raw, v, options)
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && semantic.JSONKind == '0' && wantsInteger(semantic.GoType) {
		if plain, changed := plainIntegers(raw); changed {
			err = json.Unmarshal(plain, v, options)
		}
	}
	return decodeError(err, raw)
}

func wantsInteger(t reflect.Type) bool { return t != nil && typeOf(t.Kind()) == "integer" }

// plainIntegers rewrites each integer in raw that has a fraction or an exponent.
func plainIntegers(raw []byte) (out []byte, changed bool) {
	for i := 0; i < len(raw); {
		end := i + 1
		switch kindAt(raw, i) {
		case kindString:
			end, _ = jsonrpc.SkipValue(raw, i)
		case kindNumber:
			end, _ = jsonrpc.SkipValue(raw, i)
			plain := plainInteger(raw[i:end])
			changed = changed || len(plain) != end-i || string(plain) != string(raw[i:end])
			out = append(out, plain...)
			i = end
			continue
		}
		out = append(out, raw[i:end]...)
		i = end
	}
	return out, changed
}

// decodeError converts an error of the JSON library to one that helps the author of the text.
func decodeError(err error, raw []byte) error {
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return violationAt(syntactic.JSONPointer, raw, "each member once", "it twice")
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return violationAt(semantic.JSONPointer, raw, "", Unknown)
	case errors.As(err, &semantic):
		return violationAt(semantic.JSONPointer, raw, expectedBy(semantic), gotBy(semantic))
	default:
		return fmt.Errorf("not valid JSON: %w", err)
	}
}

func violationAt(pointer jsontext.Pointer, raw []byte, expected, got string) error {
	path, at := "", bytes.TrimLeft(raw, " \t\r\n") // elements and memberOf take no space in front
	for token := range pointer.Tokens() {
		if list, ok := elements(at); ok {
			n, _ := plainInt([]byte(token))
			path = joinPath(path, indexStep(int(n)))
			if at = nil; int(n) < len(list) {
				at = list[n]
			}
			continue
		}
		path, at = joinPath(path, nameStep(token)), memberOf(at, token)
	}
	if got == "" {
		got = excerpt(at)
	}
	return &Error{Violations: []Violation{{Path: path, Expected: expected, Got: got}}}
}

// expectedBy describes the values that the Go type of e accepts.
func expectedBy(e *json.SemanticError) string {
	if e.GoType == nil {
		return "another value"
	}
	t := indirect(e.GoType)
	var words string
	switch {
	case errors.Is(e.Err, strconv.ErrRange) && !wantsInteger(t):
		return "a number within the range of float64"
	case t == timeType:
		words = "date and time such as 2006-01-02T15:04:05Z"
	case t == durationType:
		words = "duration such as PT1H30M or 90s"
	case wantsInteger(t) && e.JSONKind == '0' && isInteger(e.JSONValue):
		return "integer that fits " + t.Kind().String()
	case wantsInteger(t) && e.JSONKind == '0':
		return "integer written without fraction"
	default:
		words = wordsFor(t)
	}
	if e.Err != nil && e.JSONKind != 0 && t != timeType && t != durationType {
		words += " (" + strings.TrimPrefix(e.Err.Error(), "json: ") + ")"
	}
	return words
}

func gotBy(e *json.SemanticError) string {
	if len(e.JSONValue) > 0 {
		return excerpt(e.JSONValue)
	}
	return ""
}

func wordsFor(t reflect.Type) string {
	for t.Kind() == reflect.Pointer && !implements(t, textUnmarshalerType) {
		t = t.Elem()
	}
	if implements(t, textUnmarshalerType) || isBytes(t) {
		return "string"
	}
	return cmp.Or(typeOf(t.Kind()), "another value")
}
