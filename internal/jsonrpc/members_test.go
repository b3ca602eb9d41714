package jsonrpc

import (
	"fmt"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 40} {
		t.Run(fmt.Sprintf("of an object of %d", n), func(t *testing.T) {
			m, err := Index([]byte(object(n)), Limits{})
			if err != nil || m.Len() != n {
				t.Fatalf("got %d members, %v", m.Len(), err)
			}
			i := 0
			for name, value := range m.All() {
				if name != fmt.Sprint("k", i) || string(value) != fmt.Sprint(i) || string(m.Get(name)) != fmt.Sprint(i) {
					t.Errorf("member %d is %s: %s", i, name, value)
				}
				i++
			}
			if i != n || m.Get("k") != nil || m.Get("") != nil {
				t.Errorf("iterated over %d", i)
			}
		})
	}
}

func TestMembersAreFoundByUnescapedName(t *testing.T) {
	m, err := Index([]byte(` {"\u0061\/b":1, "plain":{"x":[]} , "":null}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a/b": "1", "plain": `{"x":[]}`, "": "null", "Plain": "", `\u0061\/b`: "", "x": ""} {
		got := m.Get(name)
		if string(got) != want || (got == nil) != (want == "") {
			t.Errorf("Get(%q) = %q, want %q", name, got, want)
		}
	}
	for name := range m.All() {
		if name != "a/b" {
			t.Errorf("first name is %q", name)
		}
		break
	}
}

func TestIndexRequiresAnObject(t *testing.T) {
	for in, code := range map[string]int{"[]": InvalidRequest, "null": InvalidRequest, "": ParseError, "{": ParseError, `{"a":1,"a":1}`: InvalidRequest} {
		if m, err := Index([]byte(in), Limits{}); codeOf(err) != code || m.Len() != 0 {
			t.Errorf("Index(%q) = %d members, %v", in, m.Len(), err)
		}
	}
}

func TestWalking(t *testing.T) {
	obj := []byte(` { "a" : [1,"]}"] , "b\"":{"c":"\\"} , "d":-1.5e3,"e":"\\\"" } `)
	var got []string
	EachMember(obj, func(name, value []byte) bool {
		got = append(got, string(name)+"="+string(value))
		return true
	})
	if want := `"a"=[1,"]}"] "b\""={"c":"\\"} "d"=-1.5e3 "e"="\\\""`; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = nil
	EachElement([]byte(` [ [] , {} ,"a,b", true,null ] `), func(value []byte) bool {
		got = append(got, string(value))
		return string(value) != "true"
	})
	if want := `[] {} "a,b" true`; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, in := range []string{"", "null", "[]", "[", "{", "{}", "[,", `{"a"`, `{"a":`, `{x`} {
		EachMember([]byte(in), func(name, value []byte) bool { t.Errorf("%q has member %s", in, name); return true })
		if in != "[," {
			EachElement([]byte(in), func(value []byte) bool { t.Errorf("%q has element %s", in, value); return true })
		}
	}
}

func TestSkipValueReportsTruncation(t *testing.T) {
	for _, in := range []string{"", "[", `"a`, `"a\"`, `{"a`, "[[]", ",", "]"} {
		if end, ok := SkipValue([]byte(in), 0); ok || end > len(in) {
			t.Errorf("SkipValue(%q) = %d, %v", in, end, ok)
		}
	}
}

func TestMembersAreCopiedLikeTheObject(t *testing.T) {
	for _, in := range []string{`{}`, `{"a":1}`, ` { "a" : [1,"]}"] , "\u0062":{"a":2} ,"c":"x" } `, object(40)} {
		m, err := Index([]byte(in), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{nil, {"a"}, {"b"}, {"a", "b", "c"}, {"k0", "k8", "k39"}, {"x"}} {
			if got, want := m.Without(names...), Without([]byte(in), names...); string(got) != string(want) {
				t.Errorf("%s without %q is %s, want %s", in, names, got, want)
			}
		}
	}
}
