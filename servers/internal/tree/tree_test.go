package tree

import (
	"strings"
	"testing"
)

func TestReadingKeepsOrderAndNumbers(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"JSON keeps the order of members":        {`{"b":1,"a":[true,null,1.50,"x\n"]}`, `{"b":1,"a":[true,null,1.50,"x\n"]}`},
		"a big number stays what it is":          {`[12345678901234567890123]`, `[12345678901234567890123]`},
		"YAML is JSON in the end":                {"b: 1\na: [true, ~, 1.5, x]\n", `{"b":1,"a":[true,null,1.5,"x"]}`},
		"keys of YAML that are numbers are text": {"200: ok\n", `{"200":"ok"}`},
		"a date of YAML is text":                 {"d: 2020-01-02\n", `{"d":"2020-01-02"}`},
		"octal and hexadecimal numbers are read": {"a: 0x10\nb: 0o10\nc: .inf\n", `{"a":16,"b":8,"c":".inf"}`},
		"aliases and merge keys are resolved":    {"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n", `{"x":{"a":1,"b":2},"y":{"b":3,"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Append(nil, v)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestHostileTreesAreRefused(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		n, m := string(rune('1'+i)), string(rune('0'+i))
		bomb.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+m+",", 9) + "*a" + m + "]\n")
	}
	for name, in := range map[string]string{
		"a name twice":         `{"a":1,"a":2}`,
		"a name twice in YAML": "a: 1\na: 2\n",
		"deep JSON":            strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"aliases that grow":    bomb.String(),
		"an alias of itself":   "a: &a [*a]\n",
		"a second value":       `{} {}`,
		"nothing":              ``,
		"half of an object":    `{"a":`,
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := Parse([]byte(in)); err == nil {
				t.Errorf("read %.100s", Append(nil, v))
			}
		})
	}
}
