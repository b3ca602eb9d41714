package jsonrpc

import (
	"strings"
	"testing"
)

// shown returns the compared parts of a message.
func shown(m *Message) string {
	parts := []string{m.Kind.String(), string(m.ID)}
	for _, part := range []string{m.Method, string(m.Params), string(m.Result)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if m.Error != nil {
		parts = append(parts, m.Error.Error(), string(m.Error.Data))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func TestParseLoose(t *testing.T) {
	const in = `{"jsonrpc":"2.0","id":3,`
	for _, tt := range []struct {
		name, in string
		odd      Odd
		want     string
	}{
		{"strict", in + `"result":{}}`, 0, `response 3 {}`},
		{"byte order mark", "\ufeff" + in + `"result":{}}`, OddMark, `response 3 {}`},
		{"high half", in + `"result":{"a":"x\ud83d"}}`, OddSurrogate, `response 3 {"a":"x\ufffd"}`},
		{"low half", in + `"result":{"a":"\ude00x"}}`, OddSurrogate, `response 3 {"a":"\ufffdx"}`},
		{"two high halves and a pair", in + `"result":["\ud83d\ud83d\ude00"]}`, OddSurrogate, `response 3 ["\ufffd\ud83d\ude00"]`},
		{"half before another escape", in + `"result":["\ud83d\n\"\\"]}`, OddSurrogate, `response 3 ["\ufffd\n\"\\"]`},
		{"half in a name", in + `"result":{"a\ud83d":1}}`, OddSurrogate, `response 3 {"a\ufffd":1}`},
		{"half behind the id", `{"jsonrpc":"2.0","result":"\ud83d","id":3}`, OddSurrogate, `response 3 "\ufffd"`},
		{"GBK", in + "\"result\":{\"a\":\"\xb4\xed\xce\xf3\"}}", OddBytes, "response 3 {\"a\":\"\uFFFD\uFFFD\uFFFD\uFFFD\"}"},
		{"Windows-1252", in + "\"result\":{\"a\":\"caf\xe9\"}}", OddBytes, "response 3 {\"a\":\"caf\uFFFD\"}"},
		{"a character cut before an escape", in + "\"result\":[\"\xe4\xbd\\n[cut]\"]}", OddBytes, "response 3 [\"\uFFFD\uFFFD\\n[cut]\"]"},
		{"bytes in a name", in + "\"result\":{\"\xe9\":1}}", OddBytes, "response 3 {\"\uFFFD\":1}"},
		{"a quote written too long", in + "\"result\":[\"\xc0\xa2\"]}", OddBytes, "response 3 [\"\uFFFD\uFFFD\"]"},
		{"a tab in a string", in + "\"result\":[\"a\tb\"]}", OddControl, `response 3 ["a\tb"]`},
		{"NaN", in + `"result":[NaN,Infinity,-Infinity,-1,"NaN"]}`, OddNaN, `response 3 [null,null,null,-1,"NaN"]`},
		{"several at once", in + "\"result\":[\"\\ud83d\",NaN,\"\\ude00\xff\"]}", OddBytes | OddNaN | OddSurrogate, ""},
		{"error null next to a result", in + `"result":{},"error":null}`, OddNull, `response 3 {}`},
		{"result null next to an error", in + `"result":null,"error":{"code":1,"message":"m"}}`, OddNull, `response 3 m (1)`},
		{"id null of a notification", `{"jsonrpc":"2.0","id":null,"method":"n"}`, OddNull, `notification  n`},
		{"version 2.0", `{"jsonrpc":2.0,"id":3,"result":{}}`, OddVersion, `response 3 {}`},
		{"version 2", `{"jsonrpc":2,"id":3,"result":{}}`, OddVersion, `response 3 {}`},
		{"id 3.0", `{"jsonrpc":"2.0","id":3.0,"result":{}}`, OddNumber, `response 3 {}`},
		{"id 3e0", `{"jsonrpc":"2.0","id":3e0,"result":{}}`, OddNumber, `response 3 {}`},
		{"id 1.2e2", `{"jsonrpc":"2.0","id":1.2e2,"result":{}}`, OddNumber, `response 120 {}`},
		{"id 30.0 of an error", `{"jsonrpc":"2.0","id":30.0,"error":{"code":1,"message":"m"}}`, OddNumber, `response 30 m (1)`},
		{"id 3.0 of an odd error", `{"jsonrpc":"2.0","id":3.0,"error":"m"}`, OddNumber | OddError, `response 3 m (-32603)`},
		{"id 3.0 of a request", `{"jsonrpc":"2.0","id":3.0,"method":"ping"}`, OddNumber, `request 3.0 ping`},
		{"params of PHP", `{"jsonrpc":"2.0","method":"n","params":[ ]}`, OddParams, `notification  n`},
		{"code -32000.0", in + `"error":{"code":-32000.0,"message":"no scene is open"}}`, OddNumber, `response 3 no scene is open (-32000)`},
		{"code as a text", in + `"error":{"code":"-32001","message":"m","data":5}}`, OddError, `response 3 m (-32001) 5`},
		{"code as a word", in + `"error":{"code":"ENOENT","message":"no such file"}}`, OddError, `response 3 ENOENT: no such file (-32603)`},
		{"code 1.5", in + `"error":{"code":1.5,"message":"m"}}`, OddError, `response 3 1.5: m (-32603)`},
		{"code of 20 digits", in + `"error":{"code":9999999999999999.9e3}}`, OddError, ""},
		{"no code", in + `"error":{"message":"m"}}`, OddError, `response 3 m (-32603)`},
		{"no message", in + `"error":{"code":-32000}}`, OddError, `response 3 {"code":-32000} (-32000)`},
		{"no message, but data", in + `"error":{"code":-32000,"data":"the words"}}`, OddError, `response 3 the words (-32000) "the words"`},
		{"message null", in + `"error":{"code":-32000,"message":null,"data":{"why":"x"}}}`, OddError, `response 3 {"why":"x"} (-32000) {"why":"x"}`},
		{"message a number", in + `"error":{"code":-32000,"message":404}}`, OddError, `response 3 404 (-32000)`},
		{"message an object", in + `"error":{"code":-32000,"message":{"text":"x"}}}`, OddError, `response 3 {"text":"x"} (-32000)`},
		{"an error with other members", in + `"error":{"detail":"x"}}`, OddError, `response 3 {"detail":"x"} (-32603)`},
		{"error as a text", in + `"error":"no scene is open"}`, OddError, `response 3 no scene is open (-32603)`},
		{"error true", in + `"error":true}`, OddError, `response 3 true (-32603)`},
		{"error as an array", in + `"error":["a"]}`, OddError, `response 3 ["a"] (-32603)`},
		{"error as a text without an id", `{"jsonrpc":"2.0","error":"m"}`, OddError, `response  m (-32603)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, fault := ParseLoose([]byte(tt.in), Limits{}, OddAny)
			if fault != nil {
				t.Fatal(fault)
			}
			if m.Odd != tt.odd {
				t.Errorf("odd %b, want %b", m.Odd, tt.odd)
			}
			if got := shown(&m); tt.want != "" && got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if fault := Valid(m.Raw(), Limits{}); fault != nil {
				t.Errorf("%s is no JSON: %v", m.Raw(), fault)
			}
			if _, strict := Parse([]byte(tt.in), Limits{}); (strict == nil) != (tt.odd == 0) {
				t.Errorf("strict: %v", strict)
			}
			if tt.odd == 0 {
				return
			}
			if _, fault := ParseLoose([]byte(tt.in), Limits{}, OddAny&^tt.odd); fault == nil {
				t.Error("read although the form is not allowed")
			}
		})
	}
}

// TestParseLooseRefuses checks messages that are ambiguous or could be forged.
func TestParseLooseRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"a name twice":                             `{"jsonrpc":"2.0","id":3,"result":{"a":1,"a":2}}`,
		"the id twice":                             `{"jsonrpc":"2.0","id":3,"id":4,"result":{}}`,
		"the id twice, once null":                  `{"jsonrpc":"2.0","id":3,"id":null,"result":{}}`,
		"two names that are one with U+FFFD":       `{"jsonrpc":"2.0","id":3,"result":{"a\ud83d":1,"a\ude00":2}}`,
		"two names that are one with U+FFFD, both": "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\\ud83d\":1,\"a\uFFFD\":2}}",
		"two names of bytes that are one":          "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"\xe9\":1,\"\xea\":2}}",
		"an id of a half":                          `{"jsonrpc":"2.0","id":1.5,"result":{}}`,
		"an id as an error that is large":          `{"jsonrpc":"2.0","id":1e300,"result":{}}`,
		"an id that is too long":                   `{"jsonrpc":"2.0","id":3.` + strings.Repeat("0", 300) + `,"result":{}}`,
		"a result and an error":                    `{"jsonrpc":"2.0","id":3,"result":{},"error":"x"}`,
		"a method and a result":                    `{"jsonrpc":"2.0","id":3,"method":"x","result":{}}`,
		"nothing but null":                         `{"jsonrpc":"2.0","id":3,"result":null,"error":null}`,
		"no version":                               `{"id":3,"result":{}}`,
		"a version of 1":                           `{"jsonrpc":1.0,"id":3,"result":{}}`,
		"a log record":                             `{"level":"info","id":3,"error":"boom"}`,
		"params by position":                       `{"jsonrpc":"2.0","method":"n","params":[1]}`,
		"bytes between tokens":                     "{\"jsonrpc\":\"2.0\",\xff\"id\":3,\"result\":{}}",
		"a character that may hold a backslash":    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[\"\x95\\\",\",\"x\"]}",
		"the same with two backslashes":            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[\"\x95\\\\\",\"x\"]}",
		"a second message":                         `{"jsonrpc":"2.0","id":3,"result":["\ud83d"]}{}`,
		"a second byte order mark":                 "\ufeff\ufeff{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
		"a comma too many":                         `{"jsonrpc":"2.0","id":3,"result":["\ud83d",]}`,
		"quotes of another kind":                   `{'jsonrpc':'2.0','id':3,'result':{}}`,
	} {
		if m, fault := ParseLoose([]byte(in), Limits{}, OddAny); fault == nil {
			t.Errorf("%s: read as %s", name, shown(&m))
		}
	}
}

func TestPlainID(t *testing.T) {
	for in, want := range map[ID]ID{
		"3": "3", "3.0": "3", "3e0": "3", "30e-1": "3", "3E+1": "30", "-2.0": "-2", "0.0": "0", "-0.0": "0", "1.5": "1.5", "15e-1": "15e-1",
		"9007199254740993.0": "9007199254740993", "1e18": "1000000000000000000", "1e19": "1e19", "1e999999999999": "1e999999999999",
		`"3.0"`: `"3.0"`, `"3"`: `"3"`, "": "",
	} {
		if got := in.Plain(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzParseLoose(f *testing.F) {
	for _, in := range []string{`{"jsonrpc":"2.0","id":3.0,"result":{"a\ud83d":"\ude00"}}`, "{\"jsonrpc\":2.0,\"error\":\"\xff\\\\\",\"id\":null}", `{"jsonrpc":"2.0","id":3,"error":{"code":1e0}}`} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		strict, refused := Parse(data, Limits{})
		m, fault := ParseLoose(data, Limits{}, OddAny)
		switch {
		case refused == nil && (fault != nil || shown(&m) != shown(&strict) || m.Odd != 0):
			t.Fatalf("strict %s, loose %s", shown(&strict), shown(&m))
		case fault != nil:
		case Valid(m.Raw(), Limits{}) != nil:
			t.Fatalf("%q became %q, which is no JSON", data, m.Raw())
		}
	})
}
