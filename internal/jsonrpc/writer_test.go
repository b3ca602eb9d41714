package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

func encoded(value string, err error) func([]byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) { return append(dst, value...), err }
}

func TestAWriterWritesOneValidValue(t *testing.T) {
	tests := map[string]struct {
		write func(w *jsonrpc.Writer)
		want  string
	}{
		"an empty object":                   {func(*jsonrpc.Writer) {}, `{}`},
		"strings are escaped":               {func(w *jsonrpc.Writer) { w.String("a\"b", "x\"},\n\x1b") }, `{"a\"b":"x\"},\n\u001b"}`},
		"members are separated":             {func(w *jsonrpc.Writer) { w.Int("n", -7); w.Bool("b", true); w.Null("z") }, `{"n":-7,"b":true,"z":null}`},
		"ids keep their form":               {func(w *jsonrpc.Writer) { w.ID("id", jsonrpc.StringID("7")); w.ID("none", "") }, `{"id":"7","none":null}`},
		"raw values are copied":             {func(w *jsonrpc.Writer) { w.Raw("r", json.RawMessage(`[1, 2]`)); w.Raw("none", nil) }, `{"r":[1, 2],"none":null}`},
		"what is open is closed at the end": {func(w *jsonrpc.Writer) { w.Object("o"); w.Array("a"); w.ObjectElement() }, `{"o":{"a":[{}]}}`},
		"members go on behind a nested value": {func(w *jsonrpc.Writer) {
			w.Object("o")
			w.End()
			w.Array("a")
			w.StringElement("x")
			w.ObjectElement()
			w.Int("n", 1)
			w.End()
			w.Element(json.RawMessage("3"))
			w.End()
			w.Bool("b", false)
		}, `{"o":{},"a":["x",{"n":1},3],"b":false}`},
		"members of another object are copied but for some": {func(w *jsonrpc.Writer) {
			w.Members(json.RawMessage(`{"a":1,"\u0062":2,"c":{"b":3}}`), "b")
			w.Members(json.RawMessage(`{}`))
			w.Members(json.RawMessage(`[1]`))
			w.Members(nil)
			w.Int("d", 4)
		}, `{"a":1,"c":{"b":3},"d":4}`},
		"a value that cannot be encoded is not written": {func(w *jsonrpc.Writer) {
			_ = w.Encoded("bad", func(dst []byte) ([]byte, error) { return append(dst, "half"...), errors.New("no") })
			_ = w.Encoded("good", func(dst []byte) ([]byte, error) { return append(dst, '1'), nil })
		}, `{"good":1}`},
		"members of an encoded object go first": {func(w *jsonrpc.Writer) {
			_ = w.EncodedMembers(encoded(`{ "a":1}`+"\n", nil))
			w.Int("b", 2)
		}, `{ "a":1,"b":2}`},
		"members of an encoded object go behind others": {func(w *jsonrpc.Writer) {
			w.Int("b", 2)
			_ = w.EncodedMembers(encoded(`{"a":1}`, nil))
			_ = w.EncodedMembers(encoded(`{ }`, nil))
			w.Object("o")
			_ = w.EncodedMembers(encoded(`{}`, nil))
			_ = w.EncodedMembers(encoded(`{"c":{}}`, nil))
		}, `{"b":2,"a":1,"o":{"c":{}}}`},
		"of an encoded object without members nothing is written": {func(w *jsonrpc.Writer) {
			_ = w.EncodedMembers(encoded(`{ }`, nil))
			w.Int("b", 2)
		}, `{"b":2}`},
		"what is no object is not written as members": {func(w *jsonrpc.Writer) {
			for _, value := range []string{`null`, `[1]`, `"}"`, `{`, ``} {
				if w.EncodedMembers(encoded(value, nil)) == nil {
					panic(value)
				}
			}
			_ = w.EncodedMembers(encoded(`{"a":1}`, errors.New("no")))
			w.Int("b", 2)
			_ = w.EncodedMembers(encoded(`{"a":1}`, errors.New("no")))
		}, `{"b":2}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := jsonrpc.NewObject([]byte("before "))
			test.write(&w)
			if got := string(w.Bytes()); got != "before "+test.want {
				t.Errorf("got  %s\nwant %s", got, "before "+test.want)
			}
		})
	}
	array := jsonrpc.NewArray(nil)
	array.StringElement("a")
	array.ObjectElement()
	if got := string(array.Bytes()); got != `["a",{}]` {
		t.Errorf("array: %s", got)
	}
}

// FuzzWriter writes names, strings and raw values of any kind. The output is valid JSON that a
// decoder reads back.
func FuzzWriter(f *testing.F) {
	f.Add("a", "b\"},{", []byte(`{"x":[1]}`))
	f.Fuzz(func(t *testing.T, name, value string, raw []byte) {
		if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
			raw = nil
		}
		w := jsonrpc.NewObject(nil)
		w.Array("list")
		w.StringElement(value)
		w.ObjectElement()
		w.String("s", value)
		w.Members(raw, "s")
		w.End()
		w.End()
		w.Raw("raw", raw)
		if name != "list" && name != "raw" {
			w.String(name, value)
		}
		if out := w.Bytes(); !json.Valid(out) {
			t.Errorf("not valid: %s", out)
		}
	})
}
