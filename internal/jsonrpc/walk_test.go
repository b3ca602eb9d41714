package jsonrpc

import "testing"

func TestGetFindsEscapedNames(t *testing.T) {
	for _, c := range []struct{ name, object, member, want string }{
		{"plain", `{"a":1,"b":[2]}`, "b", `[2]`},
		{"escaped in the object", `{"\u0061":1}`, "a", `1`},
		{"the text of an escape is another name", `{"\u0061":1}`, `\u0061`, ``},
		{"another case", `{"A":1}`, "a", ``},
		{"absent", `{"a":1}`, "b", ``},
		{"null is a value", `{"a":null}`, "a", `null`},
		{"an array", `["a"]`, "a", ``},
		{"nothing", ``, "a", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Get([]byte(c.object), c.member); string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWithAndWithoutCopyTheRest(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"a new member", string(With([]byte(`{"a":1}`), "b", []byte(`2`))), `{"a":1,"b":2}`},
		{"another value", string(With([]byte(`{"a":1,"b":2}`), "a", []byte(`3`))), `{"b":2,"a":3}`},
		{"in the empty object", string(With([]byte(`{}`), "a", []byte(`1`))), `{"a":1}`},
		{"in nothing", string(With(nil, "a", []byte(`1`))), `{"a":1}`},
		{"one member less", string(Without([]byte(`{"a":1,"b":2}`), "a")), `{"b":2}`},
		{"none left", string(Without([]byte(`{"a":1}`), "a", "c")), `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %s, want %s", c.got, c.want)
			}
		})
	}
}
