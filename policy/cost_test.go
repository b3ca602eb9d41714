package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
)

// These expressions try to keep the host busy.
func TestHostileConditionsEndInTime(t *testing.T) {
	list := "[" + strings.Repeat("1,", 50_000) + "1]"
	text := `"` + strings.Repeat("ab", 100_000) + `"`
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for _, test := range []struct{ name, when, arguments string }{
		{"loops in loops", "args.l.all(x, args.l.exists(y, y == 2))", `{"l":` + list + `}`},
		{"lists that double", "args.l + args.l + args.l + args.l == args.l + args.l + args.l + args.l", `{"l":` + list + `}`},
		{"texts that grow", "(args.t + args.t + args.t + args.t + args.t + args.t + args.t + args.t).size() > 0", `{"t":` + text + `}`},
		{"texts made small in a loop", "args.l.all(x, args.t.lowerAscii() != '')", `{"l":` + list + `,"t":` + text + `}`},
		{"texts made in a loop", "args.l.all(x, args.t + args.t != '')", `{"l":` + list + `,"t":` + text + `}`},
		{"texts searched in a loop", "args.l.all(x, !args.t.contains('abababababba'))", `{"l":` + list + `,"t":` + text + `}`},
		{"expressions in a loop", "args.l.all(x, !args.t.matches('(a*)*c$'))", `{"l":` + list + `,"t":` + text + `}`},
		{"lists searched in a loop", "args.l.all(x, !(7 in args.l))", `{"l":` + list + `}`},
		{"lists added in a loop", "args.l.all(x, !(7 in (args.l + args.l)))", `{"l":` + list + `}`},
		{"lists filtered in a loop", "args.l.all(x, args.l.filter(y, y == 1).size() > 0)", `{"l":` + list + `}`},
		{"numbers of texts in a loop", "args.l.all(x, string(args.t) != '' && size(args.t) > 1)", `{"l":` + list + `,"t":` + text + `}`},
		{"texts compared in a loop", "args.l.all(x, args.t == args.t)", `{"l":` + list + `,"t":` + text + `}`},
		{"lists compared in a loop", "args.l.all(x, args.l == args.l)", `{"l":` + list + `}`},
		{"bytes in a loop", "args.l.all(x, bytes(args.t) == bytes(args.t))", `{"l":` + list + `,"t":` + text + `}`},
		{"patterns with many stars", "glob(args.t, args.p)", `{"t":` + text + `,"p":"` + strings.Repeat("*a", 20_000) + `c"}`},
		{"patterns in a loop", "args.l.all(x, !glob(args.t, '*a*a*a*c'))", `{"l":` + list + `,"t":` + text + `}`},
		{"paths in a loop", "args.l.all(x, !under(args.t, '/a'))", `{"l":` + list + `,"t":"/` + text[1:] + `}`},
		{"depth", "args.d == args.d", `{"d":` + deep + `}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Compile([]Rule{{Effect: Allow, When: test.when}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var d Decision
			took := threadtime.Of(func() {
				d = p.Decide(t.Context(), Input{Server: "s", Tool: "t", Arguments: []byte(test.arguments)})
			})
			t.Logf("%v: %s, %s", took, d.Effect, d.Trace[0].Why())
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestHostileConditionsAreCompiledInTime(t *testing.T) {
	for name, when := range map[string]string{
		"parentheses": strings.Repeat("(", 1_200) + "true" + strings.Repeat(")", 1_200),
		"lists":       strings.Repeat("[", 1_200) + strings.Repeat("]", 1_200),
		"negations":   strings.Repeat("!", 4_000) + "true",
		"loops":       strings.Repeat("[1].all(x, ", 50) + "true" + strings.Repeat(")", 50),
		"choices":     strings.Repeat("true ? true : ", 250) + "true",
		"sums":        strings.Repeat("1+", 2_000) + "1 == 1",
		"faults":      strings.Repeat("@ ", 2_000),
		"names":       strings.Repeat("x||", 1_200) + "true",
		"terms":       strings.Repeat("args.a.b.c == 1 || ", 200) + "true",
		"regex made":  `tool.matches("(a{1,1000" + "}){1,1000}")`,
		"regex":       `tool.matches("` + strings.Repeat("(a{1,1000})", 200) + `")`,
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			took := threadtime.Of(func() {
				var p *Policy
				if p, err = Compile([]Rule{{Effect: Allow, When: when}}, Options{}); err == nil {
					p.Decide(t.Context(), read)
				}
			})
			t.Logf("%v %.200v", took, err)
			if took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
