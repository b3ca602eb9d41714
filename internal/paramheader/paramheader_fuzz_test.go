package paramheader

import (
	"encoding/json"
	"net/textproto"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// FuzzEncode checks that every text survives encoding, and that no header value represents a text
// in two of our encodings.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "us-west1", "Hello, 世界", " padded ", "line1\nline2", "=?base64?literal?=", "=?base64?", "?=", "=?base64??=", "a\tb", "\t", "\x7f", "=?BASE64?YQ==?=", "=?base64?YQ=?=", "=?base64?/w==?=", "\u00a0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if decoded, err := Decode(text); err == nil && !utf8.ValidString(decoded) {
			t.Fatalf("%q decodes to %q, which is not UTF-8", text, decoded)
		}
		if !utf8.ValidString(text) {
			t.Skip() // JSON strings, the source of texts, are UTF-8
		}
		value := Encode(text)
		for i := range len(value) {
			if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
				t.Fatalf("%q is encoded as %q", text, value)
			}
		}
		if value != strings.Trim(value, " \t") {
			t.Fatalf("%q is encoded as %q, of which HTTP takes the ends", text, value)
		}
		decoded, err := Decode(value)
		if err != nil || decoded != text {
			t.Fatalf("%q is encoded as %q and decoded as %q, %v", text, value, decoded, err)
		}
	})
}

// FuzzHeaders takes any schema and any arguments: the code that makes the headers of the arguments
// and the code that checks them must agree.
func FuzzHeaders(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, `{"region":"us"}`},
		{`{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"b"}}}`, `{"n":-4.20e1,"b":true}`},
		{`{"properties":{"a":{"properties":{"b":{"type":"string","x-mcp-header":"A-b"}}}}}`, `{"a":{"b":" Hello, 世界\n"}}`},
		{`{"properties":{"x-mcp-header":{"type":"string","x-mcp-header":"X"}}}`, `{"x-mcp-header":null}`},
		{`{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, `{}`},
		{`{"properties":{"":{"type":"boolean","x-mcp-header":"0"},"0":{"type":"boolean","x-mcp-header":"0"}}}`, `{"":true,"0":false}`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"c":{"type":"string","x-mcp-header":"a"}}}`, `{}`},
		{`{"$defs":{"x":{"properties":{"a":{"x-mcp-header":"A","type":"integer"}}}},"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`, `{"a":9007199254740993}`},
		{`{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`, `{"a":1e999}`},
		{`{"properties":{"a":{"type":"integer","\u0078-mcp-header":"A"}}}`, `{"\u0061":1}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if jsonrpc.Valid(schema, jsonrpc.Limits{}) != nil || jsonrpc.Valid(arguments, jsonrpc.Limits{}) != nil {
			t.Skip() // messages are checked before
		}
		fields, err := Fields(json.RawMessage(schema))
		if err != nil {
			if text := err.Error(); len(text) > len(schema)+400 || !strings.Contains(text, Annotation) {
				t.Fatalf("error %q", text)
			}
			return
		}
		headers := make(map[string][]string)
		for i := range fields {
			addHeader(t, headers, &fields[i], arguments)
		}
		if len(headers) > 0 && len(headers) != len(fields) && Check(fields, arguments, headers) == nil {
			checkAbsence(t, fields, arguments, headers)
		}
		checkPresence(t, fields, arguments, headers)
	})
}

// addHeader adds the header of one field like a client.
func addHeader(t *testing.T, headers map[string][]string, field *Field, arguments []byte) {
	if field.Header != textproto.CanonicalMIMEHeaderKey(field.Header) || !strings.HasPrefix(field.Header, Prefix) || headers[field.Header] != nil {
		t.Fatalf("field %+v", field)
	}
	value, present, err := field.Value(arguments)
	if err == nil && present {
		headers[field.Header] = []string{Encode(value)}
	}
}

// checkPresence checks that the headers of the arguments are accepted, unless an argument cannot be
// sent in a header: then nothing is.
func checkPresence(t *testing.T, fields []Field, arguments []byte, headers map[string][]string) {
	var impossible error
	for i := range fields {
		if _, _, err := fields[i].Value(arguments); err != nil {
			impossible = err
		}
	}
	if err := Check(fields, arguments, headers); (err == nil) != (impossible == nil) {
		t.Fatalf("headers %q of %q: %v; values: %v", headers, arguments, err, impossible)
	}
	if impossible != nil {
		return
	}
	for name, values := range headers {
		for what, other := range map[string][]string{"missing": nil, "twice": {values[0], values[0]}, "different": {Encode(values[0] + "\n1")}} {
			headers[name] = other
			if Check(fields, arguments, headers) == nil {
				t.Fatalf("header %s of %q is accepted though it is %s", name, arguments, what)
			}
		}
		headers[name] = values
	}
}

// checkAbsence checks that a header of an absent argument is refused.
func checkAbsence(t *testing.T, fields []Field, arguments []byte, headers map[string][]string) {
	for i := range fields {
		name := fields[i].Header
		if headers[name] != nil {
			continue
		}
		headers[name] = []string{""}
		if Check(fields, arguments, headers) == nil {
			t.Fatalf("header %s is accepted, but %q has no such argument", name, arguments)
		}
		delete(headers, name)
	}
}
