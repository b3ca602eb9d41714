package jsonrpc

import (
	"fmt"
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     int
	}{
		{"accepts every kind of value", `[null,true,false,0,-0,-1.5e+10,1E-2,"",{},[]," \"\\\/\b\f\n\r\té😀\ud83d\ude00"]`, 0},
		{"accepts 16 names", object(16), 0},
		{"accepts 17 names", object(17), 0},
		{"accepts one name in several objects", `{"a":{"a":[{"a":1},{"a":2}]}}`, 0},
		{"accepts names that share eight bytes", `{"abcdefgh1":1,"abcdefgh2":2,"abcdefgh":3}`, 0},
		{"accepts names that differ by a zero", `{"a":1,"a\u0000":2}`, 0},
		{"refuses nothing", ``, ParseError},
		{"refuses a leading zero", `01`, ParseError},
		{"refuses a plus sign", `+1`, ParseError},
		{"refuses a lonely minus", `-`, ParseError},
		{"refuses a lonely point", `1.`, ParseError},
		{"refuses a point first", `.1`, ParseError},
		{"refuses a lonely exponent", `1e+`, ParseError},
		{"refuses NaN", `NaN`, ParseError},
		{"refuses a cut literal", `tru`, ParseError},
		{"refuses a longer literal", `nulll`, ParseError},
		{"refuses single quotes", `'a'`, ParseError},
		{"refuses a control character in a string", "\"a\nb\"", ParseError},
		{"refuses an unknown escape", `"\x41"`, ParseError},
		{"refuses a short hexadecimal escape", `"\u12"`, ParseError},
		{"refuses a lone high surrogate", `"\ud800"`, ParseError},
		{"refuses a lone low surrogate", `"\udc00"`, ParseError},
		{"refuses a high surrogate before another", `"\ud800\ud800"`, ParseError},
		{"refuses a cut UTF-8 sequence", "\"\xe2\x82\"", ParseError},
		{"refuses an overlong UTF-8 sequence", "\"\xc0\xaf\"", ParseError},
		{"refuses a surrogate in UTF-8", "\"\xed\xa0\x80\"", ParseError},
		{"refuses UTF-8 beyond Unicode", "\"\xf4\x90\x80\x80\"", ParseError},
		{"refuses white space beyond JSON's", "[1,\u00a02]", ParseError},
		{"refuses a comma at the end", `{"a":1,}`, ParseError},
		{"refuses a comment", `[1/**/]`, ParseError},
		{"refuses the wrong bracket", `[1}`, ParseError},
		{"refuses a name twice", `{"a":1,"b":2,"a":3}`, InvalidRequest},
		{"refuses the empty name twice", `{"":1,"":3}`, InvalidRequest},
		{"refuses a name of eight bytes twice", `{"abcdefgh":1,"abcdefgh":3}`, InvalidRequest},
		{"refuses a long name twice", `{"abcdefghi":1,"abcdefghi":3}`, InvalidRequest},
		{"refuses a name twice in two spellings", `{"abcdefghi":1,"abcdefgh\u0069":3}`, InvalidRequest},
		{"refuses a name twice, both with escapes", `{"\u0061":1,"\u0061":3}`, InvalidRequest},
		{"refuses a repeat among many", strings.Replace(object(40), `"k39"`, `"k3"`, 1), InvalidRequest},
		{"refuses a repeat at both ends of many", strings.Replace(object(40), `"k39"`, `"k0"`, 1), InvalidRequest},
		{"refuses a repeat among many in two spellings", strings.Replace(object(40), `"k39"`, `"\u006b3"`, 1), InvalidRequest},
		{"refuses a repeat in a large object inside a large one", strings.Replace(object(20), ":10", ":"+strings.Replace(object(30), "k29", "k5", 1), 1), InvalidRequest},
		{"refuses a repeat behind a large object inside a large one", strings.Replace(strings.Replace(object(40), "k39", "k30", 1), ":35", ":"+object(30), 1), InvalidRequest},
		{"accepts large objects inside large ones", strings.Replace(object(40), ":35", ":"+object(30), 1), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Valid([]byte(tt.in), Limits{}); codeOf(err) != tt.code {
				t.Errorf("got %v, want code %d for %.80s", err, tt.code, tt.in)
			}
		})
	}
}

// object returns an object of n members.
func object(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func TestLimits(t *testing.T) {
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, tt := range []struct {
		name, in string
		limits   Limits
		code     int
	}{
		{"128 arrays deep by default", arrays(128), Limits{}, 0},
		{"not 129", arrays(129), Limits{}, ParseError},
		{"128 objects deep by default", objects(128), Limits{}, 0},
		{"not 129 objects", objects(129), Limits{}, ParseError},
		{"a chosen depth", arrays(3), Limits{Depth: 3}, 0},
		{"not one more", arrays(4), Limits{Depth: 3}, ParseError},
		{"10,000 members by default", object(10_000), Limits{}, 0},
		{"not 10,001", object(10_001), Limits{}, InvalidRequest},
		{"a chosen number of members", object(2), Limits{Members: 2}, 0},
		{"not one member more", object(3), Limits{Members: 2}, InvalidRequest},
		{"as many opening brackets as you like, cheaply", strings.Repeat("[", 1<<20), Limits{}, ParseError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Valid([]byte(tt.in), tt.limits); codeOf(err) != tt.code {
				t.Errorf("got %v, want code %d", err, tt.code)
			}
		})
	}
}

func TestFaultsAreFoundAtEveryOffset(t *testing.T) {
	for n := range 40 {
		plain := strings.Repeat("a", n)
		for _, bad := range []string{"\x00", "\x1f", "\n", "\x80", "\xff", `\x`} {
			in := `"` + plain + bad + strings.Repeat("b", 20) + `"`
			at := n + 1
			if bad == `\x` {
				at++
			}
			err := Valid([]byte(in), Limits{})
			if err == nil || !strings.HasPrefix(err.Message, fmt.Sprintf("offset %d:", at)) {
				t.Errorf("%q after %d bytes: %v", bad, n, err)
			}
		}
		for _, good := range []string{"\x7f", "é", "\u2028", `\"`, "😀", "!", "#", "[", "]", " "} {
			if err := Valid([]byte(`"`+plain+good+`"`), Limits{}); err != nil {
				t.Errorf("%q after %d bytes: %v", good, n, err)
			}
		}
	}
}
