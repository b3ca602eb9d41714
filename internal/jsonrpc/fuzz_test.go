package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var seeds = []string{
	string(legacyCall), string(modernCall), object(20),
	`{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32600,"message":"m","data":[1]}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
	`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{"a":{"b":[true,false,null,-1.5e+3]}}}]`,
	`{"a":1,"\u0061":2}`, `"\ud83d\ude00\ud800"`, "\"\xed\xa0\x80\"", `[01,-,1.,1e]`, `{"a":1,}`, " \t\r\n1 ",
}

// FuzzValid compares Valid with another implementation.
func FuzzValid(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Valid(data, Limits{Depth: 10_000, Members: 1 << 30}) // jsontext's depth
		if want := jsontext.Value(data).IsValid(); want != (err == nil) {
			t.Fatalf("%q: jsontext says %v, we say %v", data, want, err)
		}
		if err != nil {
			return
		}
		start := SkipSpace(data, 0)
		end, ok := SkipValue(data, start)
		if !ok || SkipSpace(data, end) != len(data) {
			t.Fatalf("%q: skipped to %d, %v", data, end, ok)
		}
		if m, err := Index(data, Limits{Depth: 10_000, Members: 1 << 30}); err == nil {
			checkMembers(t, data, &m)
		}
	})
}

// checkMembers compares an index, and the rewritten object, with the result of encoding/json.
func checkMembers(t *testing.T, obj []byte, m *Members) {
	want := make(map[string]json.RawMessage)
	if err := json.Unmarshal(obj, &want); err != nil || len(want) != m.Len() {
		t.Fatalf("%q: %d members, encoding/json has %d, %v", obj, m.Len(), len(want), err)
	}
	for name, value := range m.All() {
		if !bytes.Equal(value, want[name]) || !bytes.Equal(value, m.Get(name)) {
			t.Fatalf("%q: %q is %q, want %q", obj, name, value, want[name])
		}
	}
	edited := Without(obj)
	again, err := Index(edited, Limits{Depth: 10_000, Members: 1 << 30})
	if err != nil || again.Len() != m.Len() {
		t.Fatalf("%q: written again as %q, %v", obj, edited, err)
	}
}

// FuzzParse writes a parsed message and parses it again.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if elements, err := SplitBatch(data, 10, Limits{}); err == nil {
			for _, one := range elements {
				Parse(one, Limits{})
			}
		}
		SkipValue(data, 0)
		EachMember(data, func(_, value []byte) bool { SkipValue(value, 0); return true })
		EachElement(data, func(value []byte) bool { SkipValue(value, 0); return true })
		msg, err := Parse(data, Limits{})
		if err != nil {
			if msg.Kind != 0 || msg.Params != nil || err.Code != ParseError && err.Code != InvalidRequest {
				t.Fatalf("%q: %v with %+v", data, err, msg)
			}
			return
		}
		wire := write(&msg)
		again, err := Parse(wire, Limits{})
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, wire, err)
		}
		if again.Kind != msg.Kind || again.ID != msg.ID || again.Method != msg.Method ||
			!bytes.Equal(again.Params, msg.Params) || !bytes.Equal(again.Result, msg.Result) ||
			again.Members.Len() != msg.Members.Len() || !bytes.Equal(wire, write(&again)) {
			t.Fatalf("%q was written as %q", data, wire)
		}
	})
}

func write(msg *Message) []byte {
	switch {
	case msg.Kind == Request:
		return AppendRequest(nil, msg.ID, msg.Method, msg.Params)
	case msg.Kind == Notification:
		return AppendNotification(nil, msg.Method, msg.Params)
	case msg.Error != nil:
		return AppendError(nil, msg.ID, msg.Error)
	}
	return AppendResult(nil, msg.ID, msg.Result)
}
