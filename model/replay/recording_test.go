package replay

import (
	"strings"
	"testing"
)

func TestARecordingThatCannotBePlayedIsRefused(t *testing.T) {
	for _, test := range []struct{ name, recording, want string }{
		{"no JSON", `{`, "recording"},
		{"an unknown member", `{"turns":[{"txt":"a"}]}`, "txt"},
		{"no turns", `{"turns":[]}`, "turns are missing"},
		{"a turn that says nothing", `{"turns":[{}]}`, "turn 0: it has neither"},
		{"a last message of nobody", `{"turns":[{"text":"a","expect":{"last":"x"}}]}`, "can be user or tool"},
		{"a call of nothing", `{"turns":[{"calls":[{"name":""}]}]}`, "no name"},
		{"arguments that are no object", `{"turns":[{"calls":[{"name":"a","arguments":[1]}]}]}`, "no object"},
		{"an expression without an end", `{"turns":[{"text":"${result"}]}`, "not closed"},
		{"an expression that is none", `{"turns":[{"text":"${x}"}]}`, "expected result"},
		{"an expression in arguments that is none", `{"turns":[{"calls":[{"name":"a","arguments":{"x":[{"y":"${csv(y)}"}]}}]}]}`, "expected result"},
		{"a match without an expression", `{"turns":[{"text":"${match(result)}"}]}`, "regular expression"},
		{"a match with a damaged expression", "{\"turns\":[{\"text\":\"${match(result, `(`)}\"}]}", "missing closing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.recording)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v; want %q in it", err, test.want)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	results := []string{`{"a":[{"b":[1,"x"]}],"n":null}`, "see [1] and\n[[1,null],[\"a\",true]]", "plain text ref=e12"}
	for _, test := range []struct{ expression, want, problem string }{
		{"result", `"plain text ref=e12"`, ""},
		{"result[-1]", `"plain text ref=e12"`, ""},
		{"result[0].a[0].b[1]", `"x"`, ""},
		{"result[0].a[0].b", `[1,"x"]`, ""},
		{"len(result[0].a)", `1`, ""},
		{"len(result[1])", `1`, ""},
		{"csv(result[0].a[0].b)", "", "a row that is an object or a list, got 1"},
		{"match(result, `ref=(e\\d+)`)", `"e12"`, ""},
		{"match(result, `e\\d{2}`)", `"e12"`, ""},
		{"match(result[0].a[0].b[1], `.`)", `"x"`, ""},
		{"match(result, `nothing`)", "", "nothing matches"},
		{"result[3]", "", "there are 3 results"},
		{"result[-4]", "", "there are 3 results"},
		{"result[0].x", "", "nothing is at .x"},
		{"result[0].a[7]", "", "nothing is at [7]"},
		{"result.a", "", "there is no JSON"},
		{"len(result[0])", "", "expected a list"},
	} {
		t.Run(test.expression, func(t *testing.T) {
			if err := readable(test.expression); err != nil {
				t.Fatal(err)
			}
			got, err := compute(test.expression, results)
			switch {
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("the error is %v, the value %s; want %q in the error", err, got, test.problem)
			case test.problem == "" && (err != nil || string(got) != test.want):
				t.Errorf("%s, %v; want %s", got, err, test.want)
			}
		})
	}
	table, err := compute("csv(result)", []string{`[[1,null],["a",true]]`})
	if err != nil || string(table) != `"1,\na,true\n"` {
		t.Errorf("a list of lists is %s, %v", table, err)
	}
	uneven, err := compute("csv(result)", []string{`[{"a":1},{"b":"x","a":2}]`})
	if err != nil || string(uneven) != `"a,b\n1,\n2,x\n"` {
		t.Errorf("uneven rows are %s, %v", uneven, err)
	}
	empty, err := compute("csv(result)", []string{`[]`})
	if err != nil || string(empty) != `""` {
		t.Errorf("no rows are %s, %v", empty, err)
	}
}

func FuzzExpressionsNeverPanic(f *testing.F) {
	f.Add("a ${csv(result)} b", `[{"a":1}]`)
	f.Add("${match(result[0], `(x)`)}", "x")
	f.Add("${len(result.a[0])}${", `{"a":[[]]}`)
	f.Fuzz(func(t *testing.T, text, result string) {
		if _, err := parts(text); err != nil {
			return
		}
		_, _ = expandText(text, []string{result})
	})
}
