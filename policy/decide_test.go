package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func decide(t *testing.T, in Input, o Options, rules ...Rule) Decision {
	t.Helper()
	p, err := Compile(rules, o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Explain(t.Context(), in)
}

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// read is a call that most tests decide about.
var read = Input{
	Server: "files", Tool: "read_file", Title: "Read a file", Arguments: json.RawMessage(`{"path":"/home/ada/notes.txt","limit":10}`),
	Labels: []string{"private"}, Sources: []string{"web"}, Client: "junction", Principal: Principal{Subject: "ada", Issuer: "https://id.example", Scopes: []string{"files"}, Groups: []string{"eng", "ops"}},
}

func TestTheStrictestRuleDecides(t *testing.T) {
	allow := func(server, tool, when string) Rule {
		return Rule{Effect: Allow, Server: server, Tool: tool, When: when}
	}
	deny := func(server, tool, when string) Rule {
		return Rule{Effect: Deny, Server: server, Tool: tool, When: when}
	}
	ask := func(server, tool, when string) Rule { return Rule{Effect: Ask, Server: server, Tool: tool, When: when} }
	for _, test := range []struct {
		name  string
		rules []Rule
		want  Effect
	}{
		{"a ban of a server holds against an allow of its tool", []Rule{deny("files", "", ""), allow("", "read_file", "")}, Deny},
		{"a ban by label holds against an allow of a tool", []Rule{deny("", "", "'private' in labels"), allow("files", "read_file", "")}, Deny},
		{"a ban of everything holds against an exact call", []Rule{deny("", "", ""), allow("files", "read_file", "args.limit == 10")}, Deny},
		{"an ask of everything holds against an allow", []Rule{ask("", "", ""), allow("files", "read_file", "")}, Ask},
		{"a deny comes before an ask", []Rule{ask("files", "read_file", "true"), deny("", "", "")}, Deny},
		{"an ask does not loosen a deny", []Rule{ask("", "read_file", ""), deny("", "", "")}, Deny},
		{"a deny that fails asks", []Rule{deny("", "", "args.missing"), allow("", "", "")}, Ask},
		{"a deny that fails does not loosen another", []Rule{deny("", "", "args.missing"), deny("", "read_*", "")}, Deny},
		{"a rule that does not match is none", []Rule{deny("web", "", ""), deny("", "write_*", ""), deny("", "", "false"), allow("", "", "")}, Allow},
		{"names are case-sensitive", []Rule{deny("Files", "read_file", ""), allow("", "", "")}, Allow},
		{"an escaped star is a star", []Rule{deny("", `read\*`, ""), allow("", "", "")}, Allow},
		{"no rule at all asks", nil, Ask},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if d := decide(t, read, Options{}, test.rules...); d.Effect != test.want {
				t.Errorf("decided to %s by %s, want %s", d.Effect, d.Rule, test.want)
			}
		})
	}
}

func TestARuleWithAnOriginIsForNoOtherServerOfThatName(t *testing.T) {
	in := read
	in.Origin = OriginOf([]string{"npx", "-y", "files"})
	rule, err := Suggest(in, Scope{Reach: ThisServer})
	if err != nil || rule.Origin != in.Origin {
		t.Fatalf("got %+v, %v", rule, err)
	}
	for want, origin := range map[Effect]string{Allow: in.Origin, Ask: OriginOf([]string{"npx", "-y files"}), "": ""} {
		if in.Origin = origin; want == "" {
			want = Ask
		}
		if d := decide(t, in, Options{}, rule); d.Effect != want {
			t.Errorf("%q: %s by %s", origin, d.Effect, d.Rule)
		}
	}
	names := []string{"a", " " + NameOf("b", "x")}
	if !Named(names, "a", "y") || !Named(names, "b", "x") || Named(names, "b", "y") || Named(names, "b", "") || Named(names, "", "") {
		t.Error("names of servers are not those of their origins")
	}
}

// A server with a name like NAME@ORIGIN is not the server NAME with that origin.
func TestANameWithAnOriginMeansNoServerThatIsCalledSo(t *testing.T) {
	good, evil := OriginOf([]string{"npx", "good"}), OriginOf([]string{"npx", "evil"})
	for _, meant := range []string{NameOf("files", good), NameOf("files", OriginOf(nil)), NameOf("me@home", good)} {
		rule := Rule{After: meant}
		for _, origin := range []string{evil, good, ""} {
			if Named([]string{meant}, meant, origin) || rule.Covers(meant, origin) {
				t.Errorf("%s means the server of that name and of origin %q", meant, origin)
			}
		}
		if again := NameOf(meant, evil); !Named([]string{again}, meant, evil) || Named([]string{again}, "files", good) || Named([]string{again}, meant, good) {
			t.Errorf("%s does not mean what it names", again)
		}
	}
	if unknown := NameOf(NameOf("files", good), ""); Named([]string{unknown}, "files", good) {
		t.Errorf("%s, of an origin that is not known, means files", unknown)
	}
	if !Named([]string{"@scope/files"}, "@scope/files", evil) {
		t.Error("a name that begins with @ is none")
	}
}

func TestConditions(t *testing.T) {
	for _, test := range []struct {
		name, when string
		holds      bool
	}{
		{"method is there", `method == "tools/call"`, true},
		{"names are there", `server == "files" && tool == "read_file" && title == "Read a file" && client == "junction"`, true},
		{"arguments are there", `args.path.endsWith(".txt") && args.limit == 10`, true},
		{"numbers compare whatever their kind", `args.limit < 10.5 && args.limit > 9u`, true},
		{"an argument can be asked for", `has(args.path) && !has(args.mode) && !("mode" in args)`, true},
		{"what cannot matter does not fail", `args.limit == 10 || args.mode == "w"`, true},
		{"unsaid annotations have their defaults", `!annotations.readOnly && annotations.destructive && !annotations.idempotent && annotations.openWorld`, true},
		{"unsaid annotations are known to be", `!has(annotations.readOnly)`, true},
		{"who asks is there", `principal.subject == "ada" && principal.issuer == "https://id.example" && "files" in principal.scopes`, true},
		{"groups of who asks are there", `"eng" in principal.groups && principal.groups.exists(g, g.startsWith("o")) && has(principal.groups) && !("sales" in principal.groups)`, true},
		{"labels and sources are there", `"private" in labels && !("untrusted" in labels) && sources == ["web"]`, true},
		{"trust is there", `!trusted`, true},
		{"no resource is an empty one", `resource == ""`, true},
		{"glob matches", `glob(args.path, "/home/*.txt") && !glob(args.path, "/home") && glob("ö", "?")`, true},
		{"under knows folders", `under(args.path, "/home/ada") && under(args.path, "/home/ada/") && !under(args.path, "/home/ad")`, true},
		{"host knows URLs", `host("HTTPS://Example.COM.:8080/x") == "example.com" && host("https://good@evil.example/") == "evil.example"`, true},
		{"letters can be made small", `"/HOME/Ä".lowerAscii() == "/home/Ä"`, true},
		{"a false condition is false", `args.limit > 10`, false},
		{"a missing argument that is asked for decides before what fails", `args.mode.startsWith("w") && (has(args.path) && has(args.mode))`, false},
		{"an argument that may be missing decides nothing", `has(args.mode) || args.limit == 10`, true},
		{"an argument that must be missing decides nothing", `!has(args.mode) && args.limit == 10`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := decide(t, read, Options{Default: Deny}, Rule{Effect: Allow, When: test.when})
			if (d.Effect == Allow) != test.holds {
				t.Errorf("decided to %s: %s", d.Effect, d.Trace[0].Why())
			}
		})
	}
}

func TestConditionsThatFailLetNothingThrough(t *testing.T) {
	long := strings.Repeat("a", 10_000)
	for _, test := range []struct {
		name, when, arguments, why string
	}{
		{"a missing argument", `args.mode == "w"`, `{}`, "no such key: mode"},
		{"an argument of another type", `args.path.startsWith("/etc")`, `{"path":5}`, "no such overload"},
		{"a condition of another type", `args.path`, `{"path":"x"}`, "the condition is string, not true or false"},
		{"a path that goes up", `under(args.path, "/etc")`, `{"path":"/tmp/../etc/passwd"}`, `has ".." in it`},
		{"a path that goes up backwards", `under(args.path, "/etc")`, `{"path":"/tmp\\..\\etc"}`, `has a backslash in it`},
		{"a path of nowhere certain", `under(args.path, "/etc")`, `{"path":"etc/passwd"}`, "is relative, and the other is not"},
		{"a path with a zero byte", `under(args.path, "/etc")`, `{"path":"/tmp\u0000/etc"}`, "zero byte"},
		{"an empty path", `under(args.path, "/etc")`, `{"path":""}`, "is empty"},
		{"a network path", `under(args.path, "C:\\secret")`, `{"path":"\\\\?\\C:\\secret"}`, "is on a network or a device"},
		{"a path of a drive's current folder", `under(args.path, "C:\\secret")`, `{"path":"C:secret"}`, "current folder"},
		{"a URL without host", `host(args.url) == "example.com"`, `{"url":"https:example.com"}`, "not a URL with a host"},
		{"a URL that browsers read otherwise", `host(args.url) == "example.com"`, `{"url":"https://evil.example\\@example.com"}`, "not a URL with a host"},
		{"arguments that are no object", `args.x == 1`, `[1]`, "not a JSON object"},
		{"arguments that are no JSON", `args.x == 1`, `{"x":`, "not a JSON object"},
		{"arguments with a name twice", `args.x == 1`, `{"x":1,"x":2}`, "not a JSON object"},
		{"arguments that are too large", `args.x == 1`, `{"x":"` + strings.Repeat(long, 110) + `"}`, "more than conditions can check"},
		{"arguments that are too deep", `args.x == 1`, `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "not a JSON object"},
		{"a price that is too high", `args.l.all(x, args.l.all(y, x == y))`, `{"l":[` + strings.Repeat("1,", 2_000) + `1]}`, "cost"},
		{"a division by zero", `1 / args.n == 1`, `{"n":0}`, "division by zero"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := Input{Server: "s", Tool: "t", Arguments: json.RawMessage(test.arguments)}
			d := decide(t, in, Options{Default: Deny}, Rule{Effect: Allow, Tool: "t", When: test.when})
			if d.Effect != Deny || !d.Default || d.Trace[0].Outcome != Failed || !strings.Contains(d.Trace[0].Why(), test.why) {
				t.Errorf("an allow: %s, default %v, %s", d.Effect, d.Default, d.Trace[0].Why())
			}
			for _, strict := range []Effect{Ask, Deny} {
				d = decide(t, in, Options{}, Rule{Effect: strict, Tool: "t", When: test.when}, Rule{Effect: Allow, Server: "s"})
				if d.Effect != Ask || d.Default || d.Trace[0].Outcome != Decided || !strings.Contains(d.Reason, test.why) {
					t.Errorf("rule to %s: %s, %s", strict, d.Effect, d.Reason)
				}
				d = decide(t, in, Options{}, Rule{Effect: strict, Tool: "t", When: test.when}, Rule{Effect: Deny, Server: "s"})
				if d.Effect != Deny || !slices.ContainsFunc(d.Trace, func(s Step) bool { return s.Outcome == Failed }) {
					t.Errorf("rule to %s over a deny: %s, %s", strict, d.Effect, d.Reason)
				}
			}
		})
	}
}

func TestNothingIsAllowedOnceTheContextIsDone(t *testing.T) {
	p, err := Compile([]Rule{{Effect: Allow, When: "true || false"}, {Effect: Deny, Tool: "read_file", When: "args.limit > 100"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if d := p.Decide(ctx, read); d.Effect != Ask || !strings.Contains(d.Reason, "gone") {
		t.Errorf("got %s: %s", d.Effect, d.Reason)
	}
}

func TestBuiltInRules(t *testing.T) {
	reads := Input{Server: "s", Tool: "t", Trusted: true, Annotations: Annotations{ReadOnly: yes(), OpenWorld: no()}}
	with := func(change func(*Input)) Input { in := reads; change(&in); return in }
	for _, test := range []struct {
		name  string
		in    Input
		o     Options
		rules []Rule
		want  Effect
		by    string
	}{
		{"a tool that only reads is allowed", reads, Options{}, nil, Allow, "read-only"},
		{"of a server that is not trusted, too", with(func(in *Input) { in.Trusted = false }), Options{}, nil, Allow, "read-only"},
		{"one that may write is not", with(func(in *Input) { in.Annotations.ReadOnly = nil }), Options{}, nil, Ask, "default"},
		{"one of the open world, too", with(func(in *Input) { in.Annotations.OpenWorld = nil }), Options{}, nil, Allow, "read-only"},
		{"what is no tool is not", with(func(in *Input) { in.Tool, in.Method = "", "sampling/createMessage" }), Options{}, nil, Ask, "default"},
		{"a rule that denies comes before it", reads, Options{}, []Rule{{Name: "all", Effect: Deny}}, Deny, "all"},
		{"a rule that fails comes before it", reads, Options{}, []Rule{{Name: "all", Effect: Deny, When: "args.x"}}, Ask, "all"},
		{"with another default it is not there", reads, Options{Default: Deny}, nil, Deny, "default"},
		{"the default can be to allow", with(func(in *Input) { in.Annotations.ReadOnly = nil }), Options{Default: Allow}, nil, Allow, "default"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := decide(t, test.in, test.o, test.rules...)
			if d.Effect != test.want || d.Rule.Name != test.by || d.Default != (test.by != "all") {
				t.Errorf("%s by %s, default %v", d.Effect, d.Rule, d.Default)
			}
		})
	}
}

func TestTraceReportsEachRule(t *testing.T) {
	d := decide(t, read, Options{},
		Rule{Name: "tool", Effect: Allow, Tool: "read_file", When: "args.mode == 'r'"},
		Rule{Name: "writing", Effect: Deny, Tool: "write_file"},
		Rule{Name: "web", Effect: Deny, Server: "web"},
		Rule{Name: "private", Effect: Ask, When: "'private' in labels", Reason: "private data"},
		Rule{Name: "large", Effect: Ask, Server: "files", When: "args.limit > 100"},
		Rule{Name: "files", Effect: Allow, Server: "files"},
		Rule{Name: "all", Effect: Ask},
	)
	var got []string
	for _, s := range d.Trace {
		got = append(got, s.Rule.Name+": "+string(s.Outcome))
	}
	want := "web: other server, writing: other tool, all: decided, large: condition false, private: applies too, files: applies too, tool: failed, read-only: condition false"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if d.Effect != Ask || d.Rule.Name != "all" || d.Default {
		t.Errorf("got %s: %s", d.Effect, d.Reason)
	}
}

// Threads of users of other hosts, each by its number there.
func TestClineIssue11698AGlobalApprovalDoesNotBeatTheSwitchOfATool(t *testing.T) {
	d := decide(t, read, Options{}, Rule{Name: "approve all", Effect: Allow}, Rule{Name: "this one", Effect: Ask, Server: "files", Tool: "read_file"})
	if d.Effect != Ask || d.Rule.Name != "this one" {
		t.Errorf("%s by %s", d.Effect, d.Rule)
	}
}

func TestMastraIssue16766RulesSeeAnnotations(t *testing.T) {
	in := Input{Server: "s", Tool: "t", Annotations: Annotations{Destructive: no()}}
	if d := decide(t, in, Options{}, Rule{Effect: Allow, Server: "s", When: "!annotations.destructive"}); d.Effect != Allow {
		t.Errorf("%s by %s", d.Effect, d.Rule)
	}
}

// pool returns rules that contradict each other in every way.
func pool() []Rule {
	var rules []Rule
	for _, effect := range []Effect{Allow, Ask, Deny} {
		for _, server := range []string{"", "*", "f*", "files", "web"} {
			for _, tool := range []string{"", "*", "read_*", "read_file", "write"} {
				for _, when := range []string{"", "true", "args.limit > 5", "args.mode == 'w'", "'private' in labels", "false"} {
					rules = append(rules, Rule{Effect: effect, Server: server, Tool: tool, When: when})
				}
			}
		}
	}
	return rules
}

func TestTheOrderOfRulesMeansNothing(t *testing.T) {
	rules := pool()
	random := rand.New(rand.NewPCG(1, 2))
	empty, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 150 {
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		some := append([]Rule(nil), rules[:1+random.IntN(8)]...)
		p, err := empty.With(some...)
		if err != nil {
			t.Fatal(err)
		}
		first := p.Decide(t.Context(), read)
		random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		q, err := empty.With(some[:len(some)/2]...)
		if err == nil {
			q, err = q.With(some[len(some)/2:]...)
		}
		if err != nil {
			t.Fatal(err)
		}
		second := q.Decide(t.Context(), read)
		if first.Effect != second.Effect || *first.Rule != *second.Rule || first.Reason != second.Reason {
			t.Fatalf("%s by %s, or %s by %s, of %v", first.Effect, first.Rule, second.Effect, second.Rule, some)
		}
	}
}

func BenchmarkDecideWithAHundredRules(b *testing.B) {
	var rules []Rule
	for i, r := range pool() {
		if i%4 == 0 {
			rules = append(rules, r)
		}
	}
	for _, variant := range []struct {
		name  string
		rules []Rule
	}{{"of every kind", rules[:100]}, {"that all have a condition that is false", conditions(100)}, {"of which two match", others(98)}} {
		b.Run(variant.name, func(b *testing.B) {
			p, err := Compile(variant.rules, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(b.Context(), read)
			}
		})
	}
}

// others returns rules for other tools, and two for this one.
func others(n int) []Rule {
	rules := []Rule{{Effect: Deny, When: `has(args.url) && args.url.startsWith("file:")`}, {Effect: Allow, Server: "files", Tool: "read_*"}}
	for i := range n {
		rules = append(rules, Rule{Effect: Deny, Tool: fmt.Sprintf("*_other_%d", i)})
	}
	return rules
}

func conditions(n int) []Rule {
	var rules []Rule
	for range n {
		rules = append(rules, Rule{Effect: Deny, Server: "files", When: `args.path.startsWith("/etc/") || "untrusted" in labels`})
	}
	return rules
}

func TestDefaultNamesEffects(t *testing.T) {
	p, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	for _, test := range []struct {
		in   Input
		want string
	}{
		{Input{}, "it may write and delete, and may reach other systems; no rule allows it yet"},
		{Input{Annotations: Annotations{Destructive: &no, OpenWorld: &no}}, "it may write and delete, and may reach other systems; no rule allows it yet"},
		{Input{Trusted: true, Annotations: Annotations{Destructive: &no, OpenWorld: &no}}, "it writes, and deletes nothing; no rule allows it yet"},
		{Input{Annotations: Annotations{ReadOnly: &yes, OpenWorld: &no}}, "it only reads, according to the server, and may reach other systems; no rule allows it yet"},
		{Input{Trusted: true, Annotations: Annotations{ReadOnly: &yes}}, "it only reads, and may reach other systems; no rule allows it yet"},
		{Input{Method: "resources/read", Resource: "file:///a"}, "it reads a resource; no rule allows it yet"},
		{Input{Method: "prompts/get"}, "it returns a text of the server; no rule allows it yet"},
	} {
		if got := p.Decide(t.Context(), test.in).Reason; got != test.want {
			t.Errorf("%+v: %q, want %q", test.in, got, test.want)
		}
	}
}

func TestTheDefaultSaysWhereItStands(t *testing.T) {
	reads := Input{Server: "s", Tool: "t", Trusted: true, Annotations: Annotations{ReadOnly: yes()}}
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Default: Deny, DefaultSource: "policy.json:3"}, `deny by "default" (policy.json:3): no rule allows it`},
		{Options{Default: Allow, DefaultSource: "policy.json:3"}, `allow by "default" (policy.json:3): no rule forbids it`},
		{Options{Default: Deny}, `deny by "default" (built-in): no rule allows it`},
	} {
		d := decide(t, reads, test.o)
		if got := string(d.Effect) + " by " + d.Rule.String() + ": " + d.Reason; got != test.want || !d.Default {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestADecisionHasTheRulesThatApplyAndNoOthers(t *testing.T) {
	p, err := Compile([]Rule{
		{Name: "other", Effect: Deny, Server: "web"},
		{Name: "all", Effect: Ask},
		{Name: "files", Effect: Allow, Server: "files"},
		{Name: "fails", Effect: Allow, When: "args.mode == 'r'"},
		{Name: "false", Effect: Allow, When: "1 > 2"},
	}, Options{Default: Deny})
	if err != nil {
		t.Fatal(err)
	}
	short, whole := p.Decide(t.Context(), read), p.Explain(t.Context(), read)
	if short.Effect != whole.Effect || short.Rule != whole.Rule || short.Reason != whole.Reason {
		t.Errorf("decided to %s, %q, and explained as %s, %q", short.Effect, short.Reason, whole.Effect, whole.Reason)
	}
	var names []string
	for _, s := range short.Trace {
		names = append(names, s.Rule.Name+": "+string(s.Outcome))
	}
	if got := strings.Join(names, ", "); got != "all: decided, fails: failed, files: applies too" {
		t.Errorf("the trace is %s", got)
	}
	if len(whole.Trace) != 5 {
		t.Errorf("%d rules explained, not 5", len(whole.Trace))
	}
}

// TestConditionOnArgumentSeesEverySpelling checks that a member of the arguments is found in every
// spelling of the object.
func TestConditionOnArgumentSeesEverySpelling(t *testing.T) {
	p, err := Compile([]Rule{{Effect: Deny, When: `has(args.path) && args.path == "/etc"`}}, Options{Default: Allow})
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`{"path":"/etc"}`, ` {"path":"/etc"}`, "\r\n\t{ \"path\" : \"/etc\" }", `{"pa\u0074h":"\u002fetc"}`, `{"a":{"path":1},"path":"/etc"}`} {
		if d := p.Decide(t.Context(), Input{Method: "tools/call", Server: "s", Tool: "t", Arguments: json.RawMessage(arguments)}); d.Effect != Deny {
			t.Errorf("%s: %s, %s", arguments, d.Effect, d.Reason)
		}
	}
}
