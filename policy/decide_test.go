package policy

import (
	"testing"
)

func decide(t *testing.T, in Input, o Options, rules ...Rule) Decision {
	t.Helper()
	p, err := Compile(rules, o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Decide(t.Context(), in)
}
func TestX(t *testing.T) {
	d := decide(t, Input{Server: "a", Tool: "b", Arguments: []byte(`{"path":"/x/y","n":3.0}`)}, Options{}, Rule{Effect: Allow, When: `under(args.path, "/x") && args.n == 3 && !has(annotations.readOnly) && annotations.destructive && principal.subject == "" && labels.size()==0`})
	t.Logf("%+v", d)
	_, err := Compile([]Rule{{When: "annotations.readonly &&\n foo("}, {Effect: Deny, When: "'a'"}}, Options{})
	t.Log(err)
	_, err = Compile([]Rule{{When: "annotations.readonly && bar == 1"}, {Effect: Deny, When: "'a'.matches('(')"}}, Options{})
	t.Log(err)
}
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(nil, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
