package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCompileReportsFaultsWithTheirPlace(t *testing.T) {
	_, err := Compile([]Rule{
		{Name: "fine", Effect: Allow},
		{Effect: "alow", Source: "policy.json:3"},
		{Name: "two faults", When: "args.x == 1 &&\n nobody == 2"},
		{Effect: Deny, When: "args.x = 1"},
		{Effect: Deny, When: "annotations.readonly"},
		{Effect: Deny, When: "tool"},
		{Effect: Deny, When: "tool.matches('(')"},
		{Effect: "final"},
		{Effect: Deny, When: strings.Repeat(" ", maxCondition) + "true"},
		{Effect: Deny, Tool: strings.Repeat("a", maxText+1)},
	}, Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`policy.json:3: rule 2: effect: unknown effect "alow"; write "allow", "ask" or "deny"`,
		`rule "two faults": effect: missing; write`,
		`rule "two faults": when: line 2, column 2: undeclared reference to 'nobody'; there are method, server, tool`,
		`rule 4: when: column 8: Syntax error: token recognition error at: '= '; to compare, write ==`,
		`rule 5: when: column 12: undefined field 'readonly'; annotations has readOnly, destructive`,
		`rule 6: when: is string, not true or false; compare it with something`,
		`rule 7: when: column 14: the pattern is wrong: error parsing regexp`,
		`rule 8: effect: unknown effect "final"`,
		`rule 9: when: has 4100 bytes, more than 4096`,
		`rule 10: tool: too large: 4097 bytes`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q in\n%v", want, err)
		}
	}
	var problem *Problem
	if !errors.As(err, &problem) || problem.Rule != "rule 2" || problem.Field != "effect" {
		t.Errorf("the first problem is %+v", problem)
	}
	if !errors.Is(err, ErrLimit) {
		t.Error("a rule that is too large is no ErrLimit")
	}
	if strings.Contains(err.Error(), `"fine"`) {
		t.Error("a rule without a fault is reported")
	}
}

func TestCompileRefusesADefaultThatIsNone(t *testing.T) {
	if _, err := Compile(nil, Options{Default: "maybe"}); err == nil || !strings.Contains(err.Error(), `default: unknown effect "maybe"`) {
		t.Errorf("got %v", err)
	}
}

func TestAPolicyHasALimitedNumberOfRules(t *testing.T) {
	rules := make([]Rule, maxRules)
	for i := range rules {
		rules[i] = Rule{Effect: Deny, Tool: fmt.Sprint(i)}
	}
	p, err := Compile(rules, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.With(Rule{Effect: Deny}); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func TestWithLeavesThePolicyAsItIs(t *testing.T) {
	p, err := Compile([]Rule{{Effect: Allow, Server: "files"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // so that appending to shared memory would show
		q, err := p.With(Rule{Effect: Deny, Tool: "read_file", Source: "session"})
		if err != nil {
			t.Fatal(err)
		}
		if d := q.Decide(t.Context(), read); d.Effect != Deny || d.Rule.Source != "session" {
			t.Errorf("with the rule: %s by %s", d.Effect, d.Rule)
		}
	}
	if d := p.Decide(t.Context(), read); d.Effect != Allow {
		t.Errorf("without: %s by %s", d.Effect, d.Rule)
	}
}

func TestTheStrictestRulesAreListedFirst(t *testing.T) {
	p, err := Compile([]Rule{{Name: "d", Effect: Allow}, {Name: "b", Effect: Ask, Tool: "x"}, {Name: "z", Effect: Deny}, {Name: "c", Effect: Allow, Server: "x"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range p.Rules() {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "z b c d read-only default" {
		t.Errorf("got %s", got)
	}
}

func TestStrictest(t *testing.T) {
	for want, effects := range map[Effect][]Effect{"": {"", "x"}, Allow: {"", Allow}, Ask: {Ask, Allow, ""}, Deny: {Ask, Deny, Allow}} {
		if got := Strictest(effects...); got != want {
			t.Errorf("%v: got %q, want %q", effects, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		matches       bool
	}{
		{"", "", true}, {"", "x", true}, {"*", "x", true}, {"*", "", false}, {"**", "x", true},
		{"read", "read", true}, {"read", "Read", false}, {"read", "reads", false},
		{"read*", "read", true}, {"read*", "read/x", true}, {"*read", "unread", true}, {"*e*d", "read", true},
		{"*ab*ab", "abab", true}, {"*ab*ab", "ab", false}, {"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c-b", false},
		{"r?d", "röd", true}, {"r?d", "rd", false}, {"?", "日", true}, {"??", "日", false},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {`a\?*`, "a?b", true}, {`a\\`, `a\`, true}, {`\`, `\`, true}, {`a*\`, `ab\`, true},
	} {
		if got := parsePattern(test.pattern).matches(test.name); got != test.matches {
			t.Errorf("%q and %q: %v", test.pattern, test.name, got)
		}
	}
}

func FuzzAnEscapedNameMatchesItselfOnly(f *testing.F) {
	f.Add("a*b?c\\", "x")
	f.Add("", "*")
	f.Fuzz(func(t *testing.T, name, other string) {
		if name == "" {
			return // an empty pattern matches every name
		}
		p := parsePattern(escapePattern(name))
		if !p.matches(name) || p.kind != exactly || p.matches(other) != (name == other) {
			t.Errorf("%q is %+v", name, p)
		}
	})
}

func TestUnder(t *testing.T) {
	for _, test := range []struct {
		system, path, root string
		within             bool
	}{
		{"linux", "/a/b", "/a", true}, {"linux", "/a", "/a", true}, {"linux", "/ab", "/a", false}, {"linux", "/a//./b/", "/a/", true}, {"linux", "/a", "/", true}, {"linux", "/a", "/a/b", false},
		{"linux", "a/b", "a", true}, {"linux", "a/b", ".", true}, {"linux", "./a", "a", true}, {"linux", "...", ".", true},
		{"linux", "/A", "/a", false}, {"darwin", "/ETC/passwd", "/etc", true}, {"darwin", "/cafe\u0301/x", "/caf\u00e9", true}, {"linux", "/caf\u00e9/x", "/caf\u00e9", true}, {"linux", "/cafe\u0301/x", "/cafe\u0301", true}, {"linux", "/cafe\u0301/x", "/caf\u00e9/y", false}, {"linux", "/cafe\u0301", "/cafe", false}, {"windows", "/A/b", "/a", true},
		{"linux", `C:\Users\ada\x`, `c:/users/Ada`, true}, {"linux", `D:\x`, `C:\`, false}, {"linux", `/x`, `C:\`, false},
		{"windows", `src\main.go`, "src", true}, {"windows", `C:\secret.\x`, `C:\Secret`, true},
	} {
		if got, err := underOn(test.system, test.path, test.root); err != nil || got != test.within {
			t.Errorf("%s: %s under %s: %v, %v", test.system, test.path, test.root, got, err)
		}
	}
	for _, test := range [][3]string{
		{"linux", `/home/me/project\secret`, "/home/me/project"}, {"linux", "//host/share", "/host"}, {"linux", `\\host\share`, "/"}, {"windows", `\\?\C:\x`, `C:\`},
		{"windows", `C:\PROGRA~1\x`, `C:\`}, {"windows", `C:\p\x:stream`, `C:\p`}, {"windows", `C:\p\...\x`, `C:\p`}, {"linux", "C:x", `C:\`},
		{"linux", "/cafe\u0301/x", "/caf\u00e9"}, {"linux", "/caf\u00e9", "/cafe\u0301"}, {"windows", "C:/Cafe\u0301/x", "C:/caf\u00e9"}, {"linux", "/\u212b/x", "/\u00c5"},
	} {
		if got, err := underOn(test[0], test[1], test[2]); err == nil {
			t.Errorf("%s: %s under %s: %v, and no error", test[0], test[1], test[2], got)
		}
	}
}

func TestHostIsThatOfTheURLStandard(t *testing.T) {
	for text, want := range map[string]string{
		"HTTPS://Example.COM.:8080/x": "example.com", "https://good@evil.example/": "evil.example", "https://\uff45vil.com/": "evil.com", "https://xn--bcher-kva.example": "xn--bcher-kva.example", "https://b\u00fccher.example": "",
		"http://2130706433/": "127.0.0.1", "http://0x7f.1/": "127.0.0.1", "http://0177.0.0.1": "127.0.0.1", "http://127.1": "127.0.0.1", "http://\uff11\uff12\uff17.0.0.1": "127.0.0.1",
		"http://[::ffff:127.0.0.1]/": "127.0.0.1", "http://[0:0::1]:80/": "::1", "http://evil\u3002com/": "",
		"https://good.com\\@evil.com/": "", "http:evil.com": "", "http://1.2.3.4.5/": "", "http://256.1/": "", "http:///x": "", "http://.../": "", "http://09.1/": "",
	} {
		if got, err := hostOf(text); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestHides(t *testing.T) {
	known := Annotations{Destructive: no()}
	for _, test := range []struct {
		name  string
		rules []Rule
		o     Options
		want  bool
	}{
		{"a tool that is denied", []Rule{{Effect: Deny, Tool: "t"}}, Options{}, true},
		{"a tool of a server that is denied", []Rule{{Effect: Deny, Server: "s"}}, Options{}, true},
		{"a tool that is allowed, of a server that is denied", []Rule{{Effect: Deny, Server: "s"}, {Effect: Allow, Tool: "t"}}, Options{}, true},
		{"not a tool that is asked about", []Rule{{Effect: Ask, Tool: "t"}, {Effect: Allow}}, Options{}, false},
		{"a tool that some arguments deny once more", []Rule{{Effect: Deny, Server: "s"}, {Effect: Deny, Tool: "t", When: "args.x == 1"}}, Options{}, true},
		{"not a tool that only some arguments deny", []Rule{{Effect: Deny, Tool: "t", When: "args.x == 1"}}, Options{}, false},
		{"not a tool that only some labels deny", []Rule{{Effect: Deny, When: "'untrusted' in labels"}}, Options{}, false},
		{"a tool whose annotations deny it", []Rule{{Effect: Deny, When: "!annotations.destructive && method == 'tools/call'"}}, Options{}, true},
		{"not a tool whose annotations do not", []Rule{{Effect: Deny, When: "annotations.readOnly"}}, Options{}, false},
		{"a tool that no rule allows where the default denies", nil, Options{Default: Deny}, true},
		{"not a tool that a rule may allow there", []Rule{{Effect: Allow, Server: "s", When: "principal.subject == 'ada'"}}, Options{Default: Deny}, false},
		{"a tool that a rule of false never allows", []Rule{{Effect: Allow, When: "server == 'x'"}}, Options{Default: Deny}, true},
		{"not a tool without rules", nil, Options{}, false},
		{"not a tool for whose name a deny fails", []Rule{{Effect: Deny, When: "1 / 0 == int(tool)"}}, Options{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := Compile(test.rules, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Hides("s", "t", known); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestClaudeCodeIssue7328ADeniedToolIsHidden(t *testing.T) {
	p, err := Compile([]Rule{{Effect: Deny, Server: "files", Tool: "delete_*"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Hides("files", "delete_file", Annotations{}) || p.Hides("files", "read_file", Annotations{}) {
		t.Error("it is seen, or another is not")
	}
}

// A hidden tool must be denied for all values that are not known while tools are listed.
func TestHiddenToolsAreDeniedInEveryCall(t *testing.T) {
	calls := []Input{read, {Server: "files", Tool: "read_file"}, {Server: "files", Tool: "read_file", Arguments: []byte(`{"mode":"w","limit":1}`)}, {Server: "files", Tool: "read_file", Arguments: []byte(`{"mode":1}`), Labels: []string{"private"}}}
	empty, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rules := pool()
	hidden := 0
	for i := range rules {
		p, err := empty.With(rules[i], rules[(i*7+3)%len(rules)], rules[(i*31+11)%len(rules)])
		if err != nil {
			t.Fatal(err)
		}
		if !p.Hides("files", "read_file", Annotations{}) {
			continue
		}
		hidden++
		for _, in := range calls {
			if d := p.Decide(t.Context(), in); d.Effect != Deny {
				t.Fatalf("hidden, but %s by %s of %v", d.Effect, d.Rule, p.Rules())
			}
		}
	}
	if hidden < 20 {
		t.Errorf("only %d policies hide the tool", hidden)
	}
}

func TestRulesForNamesOfAnyLengthAreNotRemembered(t *testing.T) {
	p, err := Compile([]Rule{{Effect: Deny, Tool: "drop*"}, {Effect: Allow}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 10<<10)
	for i := range 2 * maxMatching {
		name := fmt.Sprint(i)
		for tool, want := range map[string]Effect{"drop" + name: Deny, "drop" + name + long: Deny, name + long: Allow} {
			if got := p.Decide(t.Context(), Input{Server: "files", Tool: tool}).Effect; got != want {
				t.Fatalf("%.20s: %s, want %s", tool, got, want)
			}
		}
	}
	kept := 0
	for names := range p.matching.by {
		kept += len(names[0]) + len(names[1])
	}
	if len(p.matching.by) > maxMatching || kept > maxMatching*maxMatchingName {
		t.Errorf("%d names of %d bytes are kept", len(p.matching.by), kept)
	}
	if len(p.matching.by) == 0 {
		t.Error("short names are not remembered either")
	}
}
