package schema

import (
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

// dialect is the one JSON dialect of Junction. It is that of encoding/json/v2, but Go types have
// the form of encoding/json, and durations are strings.
var dialect = json.JoinOptions(
	json.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.StringifyWithLegacySemantics(true),
	jsonv1.FormatByteArrayAsArray(true),
	jsonv1.FormatBytesWithLegacySemantics(true),
	json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(encodeDuration), json.MarshalToFunc(encodeNumber))),
	json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(decodeDuration), json.UnmarshalFromFunc(decodeNumber))),
)

// strict is the dialect for requests to Junction.
var strict = json.JoinOptions(dialect, json.RejectUnknownMembers(true))

// sent is the dialect of sent JSON. Equal values have equal texts in valid UTF-8, and every type
// that encoding/json accepts can be encoded.
var sent = json.JoinOptions(
	dialect,
	json.Deterministic(true),
	jsontext.AllowInvalidUTF8(true), // written as U+FFFD
	jsonv1.ReportErrorsWithLegacySemantics(true),
)

// Decode decodes raw into v, a pointer. Names are case-sensitive. Unknown members, duplicate names
// and invalid UTF-8 are refused. An integer may have a fraction or an exponent that leave it whole
// (1.0, 1e3), as in JSON Schema. An error contains the path of the wrong value, and is an [*Error]
// unless raw is not JSON.
func Decode(raw []byte, v any) error { return decode(raw, v, strict) }

// DecodeLoose is [Decode] for responses of other programs: it ignores unknown members.
func DecodeLoose(raw []byte, v any) error { return decode(raw, v, dialect) }

// Encode appends v to dst as compact JSON, in the form of encoding/json except for the differences
// in the package's documentation. On an error it returns dst unchanged.
func Encode(dst []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v, sent)
	if err != nil {
		return dst, fmt.Errorf("cannot encode %T as JSON: %w", v, err)
	}
	if len(dst) == 0 && cap(dst) < len(text) {
		return text, nil
	}
	return append(dst, text...), nil
}

// EncodeMember writes a member with the value [Encode] of v. On an error it writes nothing.
func EncodeMember(w *jsonrpc.Writer, name string, v any) error {
	return w.Encoded(name, func(dst []byte) ([]byte, error) { return Encode(dst, v) })
}

// encodeNumber and decodeNumber represent a json.Number by a JSON number.
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

// plainIntegers rewrites each integer that has a fraction or an exponent.
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

// decodeError converts an error of the library for the author of the text.
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
	path, at := "", raw
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

// expectedBy describes the values that the Go type accepts.
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
