package jsonrpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"leaves text alone", "a<b>&'/\u007f\u2028é😀", `"a<b>&'/` + "\u007f\u2028é😀" + `"`},
		{"escapes quotes and backslashes", `"\`, `"\"\\"`},
		{"has short escapes", "\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"escapes other control characters", "\x00\x1f", `"\u0000\u001f"`},
		{"replaces each invalid byte", "a\xff\xc0\x80\xe2\x82b", `"a` + strings.Repeat("\uFFFD", 5) + `b"`},
		{"writes nothing as an empty string", "", `""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendString([]byte("x"), tt.in)); got != "x"+tt.want {
				t.Errorf("got %s, want x%s", got, tt.want)
			}
			if got := string(AppendStringBytes([]byte("x"), []byte(tt.in))); got != "x"+tt.want {
				t.Errorf("bytes: got %s, want x%s", got, tt.want)
			}
		})
	}
}

func TestUnquote(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"reads plain text", `"abc"`, "abc", true},
		{"reads every escape", `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z"`, "\"\\/\b\f\n\r\té😀z", true},
		{"reads an escaped zero", `"\u0000"`, "\x00", true},
		{"refuses what is no string", `abc`, "", false},
		{"refuses a lonely quote", `"`, "", false},
		{"refuses an escaped end", `"\"`, "", false},
		{"refuses space around", `"a" `, "", false},
		{"refuses two strings", `"a""b"`, "", false},
		{"refuses invalid UTF-8", "\"\xff\"", "", false},
		{"refuses a lone surrogate", `"\ud800"`, "", false},
		{"refuses nothing", ``, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Unquote([]byte(tt.in)); got != tt.want || ok != tt.ok {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func TestUnquoteAllocatesTheStringOnly(t *testing.T) {
	for _, raw := range []string{`"some plain text that is long enough"`, `"some text with \n and \u00e9 that is long enough"`} {
		in := []byte(raw)
		if n := testing.AllocsPerRun(100, func() { Unquote(in) }); n != 1 {
			t.Errorf("%v allocations for %s", n, raw)
		}
	}
}

func TestAppendMessages(t *testing.T) {
	params := []byte(`{"a":1}`)
	for _, tt := range []struct {
		name      string
		got, want string
	}{
		{"a request", string(AppendRequest(nil, IntID(-7), "tools/call", params)), `{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"a":1}}`},
		{"a request without params", string(AppendRequest(nil, StringID(`a"b`), "ping", nil)), `{"jsonrpc":"2.0","id":"a\"b","method":"ping"}`},
		{"a notification", string(AppendNotification(nil, `m"`, params)), `{"jsonrpc":"2.0","method":"m\"","params":{"a":1}}`},
		{"a result", string(AppendResult(nil, "1", params)), `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"an empty result", string(AppendResult(nil, "1", nil)), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"an error", string(AppendError(nil, "1", Errorf(MethodNotFound, "no method %q", "x"))), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no method \"x\""}}`},
		{"an error with data and no id", string(AppendError(nil, "", &Error{Code: 1, Message: "m", Data: params})), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","data":{"a":1}}}`},
		{"base64", string(AppendBase64String([]byte("x"), []byte{0, 255, 62})), `x"` + base64.StdEncoding.EncodeToString([]byte{0, 255, 62}) + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %s\nwant %s", tt.got, tt.want)
			}
		})
	}
}

func TestMembersAreCopied(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		drop     []string
		want     string
		wrote    bool
	}{
		{"copies everything", ` {"a":1, "b" : {"a":[]} } `, nil, `{"a":1,"b" : {"a":[]}`, true},
		{"drops the first", `{"a":1,"b":2}`, []string{"a"}, `{"b":2`, true},
		{"drops the last", `{"a":1,"b":2}`, []string{"b", "z"}, `{"a":1`, true},
		{"drops everything", `{"a":1,"b":2}`, []string{"a", "b"}, `{`, false},
		{"drops a name with escapes", `{"\u0061":1,"b":2}`, []string{"a"}, `{"b":2`, true},
		{"keeps names in another case", `{"A":1}`, []string{"a"}, `{"A":1`, true},
		{"opens an empty object", `{ }`, nil, `{`, false},
		{"opens nothing as an object", ``, nil, `{`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewObject([]byte("x"))
			w.Members([]byte(tt.in), tt.drop...)
			if string(w.buf) != "x"+tt.want || w.more != tt.wrote {
				t.Errorf("got %s, %v", w.buf, w.more)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	if IntID(7) == StringID("7") || IntID(7).IsString() || !StringID("7").IsString() {
		t.Error("a number and a string are the same id")
	}
	if id := ID(""); !id.IsZero() || id.IsString() || IntID(0).IsZero() {
		t.Error("the zero ID is not distinguished from others")
	}
}

func TestErrorNamesItsCode(t *testing.T) {
	var err error = Errorf(InvalidParams, "tool %q: no such field", "echo")
	if got := err.Error(); got != `tool "echo": no such field (-32602)` {
		t.Error(got)
	}
}

// Whatever two bytes stand next to each other, and wherever in a word, the first that is not plain is found.
func TestPlainRunsEndWhereTheyShould(t *testing.T) {
	for pair := range 1 << 16 {
		for _, at := range []int{0, 3, 6, 7, 8, 15, 18, 23} {
			text := bytes.Repeat([]byte{'~'}, 26)
			text[at], text[at+1] = byte(pair>>8), byte(pair)
			want := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf })
			if want < 0 {
				want = len(text)
			}
			if got := plainEnd(text, 0); got != want {
				t.Fatalf("%q: the plain run ends at %d, want %d", text, got, want)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\x00", "é漢😀\u2028", "\xff\xed\xa0\x80\xf4\x90", strings.Repeat("x", 33) + "\xe2\x82"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendString(nil, s)
		want := string([]rune(s)) // each invalid byte becomes U+FFFD
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil || got != want {
			t.Fatalf("%q was written as %s, which is %q, %v", s, quoted, got, err)
		}
		if got, ok := Unquote(quoted); !ok || got != want {
			t.Fatalf("%s was unquoted as %q, %v", quoted, got, ok)
		}
		if err := Valid(quoted, Limits{}); err != nil {
			t.Fatalf("%s: %v", quoted, err)
		}
		if b := AppendStringBytes(nil, []byte(s)); string(b) != string(quoted) {
			t.Fatalf("as bytes %s, as a string %s", b, quoted)
		}
	})
}
