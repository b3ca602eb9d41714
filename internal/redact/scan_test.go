package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// jsonBySteps and the functions below hide secrets in the simplest way; the single pass must give
// the same result.

func jsonBySteps(data json.RawMessage, l Limits) (shown json.RawMessage, whole bool) {
	if data = data[jsonrpc.SkipSpace(data, 0):]; len(data) == 0 {
		return nil, true
	}
	dst := l.appendBySteps(make([]byte, 0, min(len(data)+64, l.Bytes)), data, 0)
	return dst, len(dst) <= l.Bytes
}

func (l *Limits) appendBySteps(dst []byte, data json.RawMessage, depth int) []byte {
	switch {
	case len(dst) > l.Bytes:
		return append(dst, "null"...) // the whole result is dropped
	case depth > l.Depth:
		return jsonrpc.AppendString(dst, Cut)
	case data[0] == '{':
		w := jsonrpc.NewObject(dst)
		hidden := 0
		jsonrpc.EachMember(data, func(quoted, value []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			if ordinary(name) {
				_ = w.Encoded(name, func(dst []byte) ([]byte, error) { return l.appendBySteps(dst, value, depth+1), nil })
				return true
			}
			if shown := textByWords(name, l.Text); shown != name {
				hidden++
				name = fmt.Sprintf("%s (%d)", shown, hidden) // unique
			}
			if l.hidesBySteps(name) && value[0] != 't' && value[0] != 'f' && value[0] != 'n' {
				w.String(name, Hidden)
				return true
			}
			_ = w.Encoded(name, func(dst []byte) ([]byte, error) { return l.appendBySteps(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '[':
		w := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(data, func(value []byte) bool {
			_ = w.EncodedElement(func(dst []byte) ([]byte, error) { return l.appendBySteps(dst, value, depth+1), nil })
			return true
		})
		return w.Bytes()
	case data[0] == '"':
		if text, ok := l.nested(data, depth, l.Bytes-len(dst)); ok {
			return jsonrpc.AppendString(dst, text)
		}
		text, _ := jsonrpc.Unquote(data)
		return jsonrpc.AppendString(dst, textByWords(text, l.Text))
	}
	return append(dst, data...)
}

func (l *Limits) hidesBySteps(name string) bool {
	if namedByWords(name) {
		return l.Shown == nil || !l.Shown(name)
	}
	return l.Hidden != nil && l.Hidden(name)
}

func namedByWords(name string) bool {
	letters := separators.Replace(strings.ToLower(name))
	if isOneTime(letters) {
		return true
	}
	for _, word := range sensitive {
		if strings.Contains(letters, word) {
			return true
		}
	}
	return false
}

func textByWords(text string, most int) string {
	if runes := 0; len(text) > most {
		for i := range text {
			if runes++; runes > most {
				text = text[:i] + Cut
				break
			}
		}
	}
	if Looks(text) {
		return Hidden
	}
	var shown strings.Builder // result with the secrets in URLs hidden
	rest := text
	for word := range strings.FieldsSeq(text) {
		hidden := ""
		switch {
		case Looks(word):
			return Hidden
		case strings.Contains(word, "://"):
			hidden = urlsIn(word)
		case strings.Contains(word, "@") && (strings.Contains(word, "//") || strings.Contains(word, `\/\/`)): // a URL without a scheme, or in the form of JSON
			hidden = Hidden
		default:
			continue
		}
		before, after, _ := strings.Cut(rest, word)
		shown.WriteString(before + hidden)
		rest = after
	}
	shown.WriteString(rest)
	return hideFound(shown.String(), Hidden)
}

var differing = []string{
	`{}`, `[]`, `[1,2 ,"a" , {"a":[{}]}]`, ` {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"password":"x","n":true,"token":null,"authorized":false}}}`,
	`{"text":"see sk-1 there"}`, `{"text":"see\nsk-1"}`, `{"text":"see\u00a0sk-1"}`, "{\"text\":\"see\u00a0ghp_1\"}", `{"text":"x-sk-1 AKIA0123456789"}`, `{"text":"AKIA01234"}`,
	`{"text":"a:\/\/b@c"}`, `{"text":"a://b"}`, `{"text":"a@b //c"}`, `{"text":"me@h \\/\\/"}`, `{"text":"me@h x\/y"}`, `{"sk-1":1,"sk-2":2}`, `{"\u0074oken":1}`, `{"to.ken":1}`, `{"to\u212aen":1}`, "{\"api\u212aEY\":1}", "{\"api\u212aEY\u00e9\":\"x\"}",
	`{"text":"-----BEGIN RSA PRIVATE KEY-----\nabc"}`, `{"text":"-----BEGIN RSA private KEY-----"}`, `"bearer x"`, `"a bearer x"`, `"Basic 0123456789"`, `"\ud83d\ude00 \u0001"`, `"a\/b"`, `"\b\f\r\t\"\\"`, `[[[[[[1]]]]],"a"]`, `[[[[{"a":[]}]]]]`,
	`"0123456789012345678901234567890123456789012345"`, `"ééééééééééééééééééééééééééééééééééééééééé"`, `{"a" : 1 , "b" :[ ] }`, `nul`, `{"a":`, `{"a":1,`, `{"a`, `{"a" 1}`, `[1`, `["`, `"\`, `{"":1}`, `{"to\u0000ken":1}`, "{\"to\x00ken\":1}", "to\x00ken", `{"name":"Authorization","value":"Basic bWU6czNjcmV0"}`,
	`"http://127.0.0.1:80/mcp"`, `"see http://h/a-b_c/d. ok"`, `"\"http://h/a\""`, `"http://h/a\n"`, `"http://h:80:90/"`, `"http://h:x/"`, `"http://h:/a@b"`, `"http:///a"`, `"http://"`, `"x http://h/0123456789abcdefghij"`, `"http://h//a://b"`, `"Http://h"`, `"=http://h"`, `"http://h http://me:x@h"`, `"http://_h"`, `"http://h:80a/"`,
	`{"a":"{\"b\":\"ghp_0123456789abcdef\"}"}`, `"k=sk-0123456789abcdef"`, `"k:sk-0123456789abcdef\n(AKIA0123456789abcdef)"`, `"\\sk-0123456789abcdef"`, `"\"Authorization: Bearer 0123456789abcdef\""`, `"http://h:sk-0123456789abcdef"`,
	`{"body":"{\"password\":\"hunter2\"}"}`, `["[{\"x\":{\"token\" : 1}}]","{\"token\":"]`, `"{\"b\":\"{\\\"secret\\\":\\\"x\\\"}\"}"`,
	`"password = hunter2x"`, `"password\t: hunter2x"`, `"db_password_2=hunter2x"`, `"\"pin\": 1, \"password\": 12345"`, `"cookie: ['a1', \"b2"`, `"bot 123456789:AAabcdefghijklmnopqrstuvwxyz0123456789"`,
	`"AccountKey=0123456789"`, `"x/ghp_0123456789abcdef"`, `"http://hooks.slack.com/services/T0/B0/0123456789abcdef"`, `"http://h/a-AKIA0123456789abcdef"`, `"progressToken: 0123456789abcdef"`,
	`"say Bearer 0123456789abcdef"`, `"-----BEGIN PGP PRIVATE KEY BLOCK-----"`, `"pypi-0123456789012345678901234567890123456789"`,
	"{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}",
}

// FuzzJSON looks for a value for which the single pass differs.
func FuzzJSON(f *testing.F) {
	for _, text := range differing {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range []Limits{
			{Text: 40, Bytes: 1 << 20, Depth: 4}, {Text: 1000, Bytes: 60, Depth: 32, Shown: func(name string) bool { return name == "token" }},
			{Text: 1000, Bytes: 1 << 20, Depth: 32, Hidden: func(name string) bool { return strings.HasPrefix(name, "a") }},
		} {
			got, whole := JSON(json.RawMessage(text), l)
			if jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) != nil {
				continue // not used
			}
			if want, wantWhole := jsonBySteps(json.RawMessage(strings.TrimRight(text, " \t\r\n")), l); string(got) != string(want) || whole != wantWhole {
				t.Errorf("%q becomes\n%q %v, want\n%q %v", text, got, whole, want, wantWhole)
			}
		}
		if got, want := Text(text, 30), textByWords(text, 30); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got, want := URL(text), urlByParts(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got, want := Named(text), namedByWords(text); got != want {
			t.Errorf("%q: named %v, want %v", text, got, want)
		}
	})
}
