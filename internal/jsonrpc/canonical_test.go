package jsonrpc

import "testing"

func TestJSONIsComparedByItsExactMeaning(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"amount":9007199254740992}`, `{"amount":9007199254740993}`, false},
		{`{"amount":-123456789012345678901234567890}`, `{"amount":-123456789012345678901234567891}`, false},
		{`{"amount":1e400}`, `{"amount":2e400}`, false},
		{`{"amount":0.1}`, `{"amount":0.10000000000000001}`, false},
		{`{"amount":1}`, `{"amount":-1}`, false},
		{`{"amount":1}`, `{"amount":10}`, false},
		{`{"amount":1}`, `{"amount":"1"}`, false},
		{`{"amount":1e99999999999999999999}`, `{"amount":1e99999999999999999998}`, false},
		{`{"a":"1.0"}`, `{"a":"1"}`, false},
		{`{"a":"\\","b":1.0}`, `{"b":1,"a":"\u005c"}`, true},
		{`{"a":1,"b":[1200,{"c":"\""}]}`, ` { "b" : [ 1.2E+3 , {"c":"\u0022"} ] , "a" : 10e-1 }`, true},
		{`{"a":0}`, `{"a":-0.00e5}`, true},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567890.000}`, true},
	} {
		a, _ := Canonical([]byte(c.a))
		b, _ := Canonical([]byte(c.b))
		if same := string(a) == string(b); same != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, same)
		}
	}
}

func FuzzCanonicalIsStable(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,-0,1e3,"x\n"],"a":null}`))
	f.Add([]byte(`12e-5`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, ok := Canonical(data)
		if twice, again := Canonical(once); ok && (!again || string(once) != string(twice)) {
			t.Errorf("%q became %q and then %q", data, once, twice)
		}
	})
}
