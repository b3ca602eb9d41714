package policy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/schema"
)

func TestSuggest(t *testing.T) {
	in := read
	in.Annotations.ReadOnly = yes()
	for _, test := range []struct {
		name string
		in   Input
		s    Scope
		want Rule
	}{
		{"this tool", in, Scope{Reach: ThisTool}, Rule{Effect: Allow, Server: "files", Tool: "read_file"}},
		{"never this tool", in, Scope{Reach: ThisTool, Effect: Deny}, Rule{Effect: Deny, Server: "files", Tool: "read_file"}},
		{"this call", in, Scope{}, Rule{Effect: Allow, Server: "files", Tool: "read_file", When: `args == {"limit": 10, "path": "/home/ada/notes.txt"}`}},
		{"a call without arguments", Input{Server: "s", Tool: "t"}, Scope{}, Rule{Effect: Allow, Server: "s", Tool: "t", When: `args == {}`}},
		{"a folder", in, Scope{Under: map[string]string{"path": "/home/ada"}}, Rule{Effect: Allow, Server: "files", Tool: "read_file", When: `args.limit == 10 && under(args.path, "/home/ada") && args.all(name, name in ["limit", "path"])`}},
		{"a folder, and an argument that is free", in, Scope{Under: map[string]string{"path": "/home/ada"}, Free: []string{"limit"}}, Rule{Effect: Allow, Server: "files", Tool: "read_file", When: `under(args.path, "/home/ada") && args.all(name, name in ["limit", "path"])`}},
		{"a list of paths", Input{Server: "s", Tool: "t", Arguments: []byte(`{"paths":["/a/b","/a/c"]}`)}, Scope{Under: map[string]string{"paths": "/a"}}, Rule{Effect: Allow, Server: "s", Tool: "t", When: `args.paths.all(path, under(path, "/a")) && args.all(name, name in ["paths"])`}},
		{"tools that read", in, Scope{Reach: ReadOnlyTools}, Rule{Effect: Allow, Server: "files", Tool: "*", When: "annotations.readOnly"}},
		{"this server", in, Scope{Reach: ThisServer}, Rule{Effect: Allow, Server: "files", Tool: "*"}},
		{"names with stars", Input{Server: "a*", Tool: "b?"}, Scope{Reach: ThisTool}, Rule{Effect: Allow, Server: `a\*`, Tool: `b\?`}},
		{"a tool of no server", Input{Tool: "t"}, Scope{Reach: ThisTool}, Rule{Effect: Allow, Tool: "t", When: `server == ""`}},
		{"a resource", Input{Server: "s", Method: "resources/read", Resource: "file:///x"}, Scope{}, Rule{Effect: Allow, Server: "s", When: `method == "resources/read" && resource == "file:///x"`}},
		{"resources of a server", Input{Server: "s", Method: "resources/read", Resource: "file:///x"}, Scope{Reach: ThisServer}, Rule{Effect: Allow, Server: "s", When: `method == "resources/read"`}},
		{"names that CEL knows", Input{Server: "s", Tool: "t", Arguments: []byte(`{"in":1,"a b":null}`)}, Scope{Free: []string{"c"}}, Rule{Effect: Allow, Server: "s", Tool: "t", When: `args["a b"] == null && args["in"] == 1 && args.all(name, name in ["a b", "in"])`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Suggest(test.in, test.s)
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestSuggestRefusesUnsafeRules(t *testing.T) {
	for _, test := range []struct {
		name string
		in   Input
		s    Scope
		why  string
	}{
		{"a tool that may write is none that reads", read, Scope{Reach: ReadOnlyTools}, "its condition is not true for this call"},
		{"a path that is not in the folder", read, Scope{Under: map[string]string{"path": "/etc"}}, "its condition is not true"},
		{"a path that goes up", Input{Server: "s", Tool: "t", Arguments: []byte(`{"path":"/etc/../x"}`)}, Scope{Under: map[string]string{"path": "/etc"}}, "its condition is not true"},
		{"more arguments than a condition holds", Input{Server: "s", Tool: "t", Arguments: []byte(`{"text":"` + strings.Repeat("a", maxCondition) + `"}`)}, Scope{}, "split it into several"},
		{"a number out of range", Input{Server: "s", Tool: "t", Arguments: []byte(`{"n":1e999}`)}, Scope{}, "out of range"},
		{"arguments that are none", Input{Server: "s", Tool: "t", Arguments: []byte(`7`)}, Scope{}, "not a JSON object"},
		{"an effect that is none", read, Scope{Reach: ThisTool, Effect: "maybe"}, "unknown effect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if rule, err := Suggest(test.in, test.s); !errors.Is(err, ErrNotSuggested) || !strings.Contains(err.Error(), test.why) {
				t.Errorf("got %+v, %v", rule, err)
			}
		})
	}
}

func TestASuggestedRuleHoldsForNoOtherArguments(t *testing.T) {
	for given, others := range map[string][]string{
		`{"a":1}`:                    {`{}`, `{"a":2}`, `{"a":"1"}`, `{"a":1,"b":2}`, `{"a":true}`, `{"a":null}`, `{"a":[1]}`, `{"a":1.5}`, `{"b":1}`},
		`{"a":"x\" || true"}`:        {`{"a":"x"}`, `{"a":""}`, `{"a":"x\\\" || true"}`},
		`{"a":{"b":[1,null]}}`:       {`{"a":{"b":[1]}}`, `{"a":{"b":[null,1]}}`, `{"a":{"c":[1,null]}}`, `{"a":{}}`},
		`{"a":1.0}`:                  {`{"a":1.00000000000000000001}`, `{"a":1e400}`},
		`{"a":0}`:                    {`{"a":1e-400}`},
		`{"a":0.1}`:                  {`{"a":0.10000000000000000555}`, `{"a":[0.1]}`},
		`{"a":9007199254740993}`:     {`{"a":9007199254740992}`, `{"a":9007199254740994}`, `{"a":9007199254740992.0}`, `{"a":9.007199254740992e15}`, `{"a":9007199254740993.5}`},
		`{"a":9007199254740993.0}`:   {`{"a":9007199254740992.0}`, `{"a":9007199254740992}`},
		`{"a":18446744073709551615}`: {`{"a":18446744073709551614}`, `{"a":18446744073709551616}`, `{"a":18446744073709552000}`},
		`{"a":-9223372036854775808}`: {`{"a":-9223372036854776000}`, `{"a":-9223372036854775809}`},
		`{"a":""}`:                   {`{}`, `{"a":null}`, `{"a":"\u0000"}`, `{"a":"\u200b"}`},
	} {
		in := Input{Server: "s", Tool: "t", Arguments: json.RawMessage(given)}
		rule, err := Suggest(in, Scope{})
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		for _, other := range others {
			in.Arguments = json.RawMessage(other)
			if d := decide(t, in, Options{}, rule); d.Effect != Ask {
				t.Errorf("%s: %s also %s", rule.When, d.Effect, other)
			}
		}
	}
}

func TestASuggestedRuleHoldsForOtherSpellings(t *testing.T) {
	for given, others := range map[string][]string{
		`{"a":1}`:                  {`{"a":1.0}`, `{"a":1e0}`, `{"a":10e-1}`},
		`{"a":[1.0]}`:              {`{"a":[1]}`},
		`{"a":1.5}`:                {`{"a":1.50}`, `{"a":15e-1}`},
		`{"a":0}`:                  {`{"a":-0.0}`, `{"a":0e7}`},
		`{"a":9007199254740993.0}`: {`{"a":9007199254740993}`, `{"a":9007199254740993000e-3}`},
	} {
		in := Input{Server: "s", Tool: "t", Arguments: json.RawMessage(given)}
		rule, err := Suggest(in, Scope{})
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		for _, other := range others {
			in.Arguments = json.RawMessage(other)
			if d := decide(t, in, Options{}, rule); d.Effect != Allow {
				t.Errorf("%s: %s %s: %s", rule.When, d.Effect, other, d.Reason)
			}
		}
	}
}

// A number that no number of a condition equals may be near one: that denies it, and allows
// nothing.
func TestANumberThatIsRoundedIsNotAllowed(t *testing.T) {
	for _, number := range []string{`6.00000000000000000001`, `18446744073709551616`, `1e400`} {
		in := Input{Server: "s", Tool: "t", Arguments: json.RawMessage(`{"path":"x","list":[{"a":` + number + `}]}`)}
		for when, want := range map[string]Effect{`args.list[0].a > 5`: Ask, `args.path == "x"`: Ask, `tool == "t"`: Allow} {
			if d := decide(t, in, Options{}, Rule{Effect: Allow, When: when}); d.Effect != want {
				t.Errorf("%s of %s when %s", d.Effect, number, when)
			}
		}
		if d := decide(t, in, Options{}, Rule{Effect: Deny, When: `args.list[0].a > 5`}); d.Effect != Deny {
			t.Errorf("%s of %s", d.Effect, number)
		}
		if rule, err := Suggest(in, Scope{}); !errors.Is(err, ErrNotSuggested) {
			t.Errorf("%s: suggested %+v, %v", number, rule, err)
		}
	}
}

func TestARuleForAFolderIsClosed(t *testing.T) {
	in := Input{Server: "s", Tool: "copy", Arguments: json.RawMessage(`{"source":"/home/me/p/a.txt","also":["/home/me/p/b"],"mode":"fast","note":"x"}`)}
	rule, err := Suggest(in, Scope{Under: map[string]string{"source": "/home/me/p", "also": "/home/me/p"}, Free: []string{"note"}})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]Effect{
		`{"source":"/home/me/p/c","also":[],"mode":"fast","note":"y"}`:                              Allow,
		`{"source":"/home/me/p/c","also":["/home/me/p/d"],"mode":"fast"}`:                           Allow,
		`{"source":"/home/me/p/c","also":["/home/me/p/d"],"mode":"fast","destination":"/etc/cron"}`: Ask,
		`{"source":"/home/me/p/c","also":["/home/me/p/d","/etc/shadow"],"mode":"fast"}`:             Ask,
		`{"source":"/home/me/p/c","also":"/home/me/p/d","mode":"fast"}`:                             Ask,
		`{"source":["/home/me/p/c"],"also":[],"mode":"fast"}`:                                       Ask,
		`{"source":"/home/me/p/c","also":[],"mode":"force"}`:                                        Ask,
		`{"source":"/home/me/p/c","also":[]}`:                                                       Ask,
		`{"source":"/home/me/p/../x","also":[],"mode":"fast"}`:                                      Ask,
		`{"source":"/home/me/p/c","also":[{"path":"/etc"}],"mode":"fast"}`:                          Ask,
	} {
		in.Arguments = json.RawMessage(arguments)
		if d := decide(t, in, Options{}, rule); d.Effect != want {
			t.Errorf("%s of %s by %s, want %s", d.Effect, arguments, rule.When, want)
		}
	}
}

// hostile are texts that try to break out of a string, or to resemble another one.
var hostile = []string{
	"", `"`, `'`, `\`, `\\"`, `" || true || "`, `' || true || '`, `\" || true //`, "\n\r\t\x00\x1b[2J\x7f", "\u202e\u200b\ufeff\u2028", "é日本🎉", "\U000e0041", `"""`, `r"x"`, "`", "${x}", "//", "\ufffd", `{"a":1}`, "*?\\*",
}

func FuzzSuggestedRulesGiveTheirEffect(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, int64(-1<<63), 1e-7)
	}
	f.Fuzz(func(t *testing.T, name, text string, integer int64, number float64) {
		arguments, err := schema.Encode(nil, map[string]any{name: text, name + "!": []any{integer, number, nil, map[string]any{text: true}}})
		if err != nil {
			t.Skip() // not UTF-8, or not a number
		}
		if number == -1<<63 || number == 1<<64 {
			t.Skip() // as JSON it is rounded to the neighbour of an integer
		}
		in := Input{Server: name, Tool: text, Arguments: arguments, Annotations: Annotations{ReadOnly: yes()}}
		for _, s := range []Scope{{}, {Reach: ThisTool}, {Reach: ReadOnlyTools}, {Reach: ThisServer}, {Free: []string{name, name + "?"}}, {Effect: Deny}} {
			want := s.Effect
			if want == "" {
				want = Allow
			}
			rule, err := Suggest(in, s)
			if len(name)+len(text) > 500 && err != nil {
				continue
			}
			if err != nil {
				t.Fatalf("%s %+v: %v", arguments, s, err)
			}
			if d := decide(t, in, Options{}, rule); d.Effect != want || d.Default {
				t.Errorf("%s by %s of %+v for %s", d.Effect, d.Rule, rule, arguments)
			}
		}
	})
}

func FuzzCompileAndDecideNeverPanic(f *testing.F) {
	f.Add("args.x.all(y, y > 1)", `{"x":[1,2]}`)
	f.Add(`under(args.p, "/") || glob(tool, "*") || host(args.u) == ""`, `{"p":"..","u":"http://[::1%25]"}`)
	f.Add(`(args.x + string(args.x)).lowerAscii().matches(args.x)`, `{"x":"a"}`)
	f.Add(`args.a.map(x, args.a.map(y, args.a)).size() > 1`, `{"a":[[],[],{}]}`)
	f.Add(`timestamp(args.t) > timestamp("1970-01-01T00:00:00Z") || duration("1s") == args.t`, `{"t":"x"}`)
	f.Add(`principal == annotations || dyn(principal).x == type(args)`, `{}`)
	f.Fuzz(func(t *testing.T, when, arguments string) {
		for _, effect := range []Effect{Allow, Deny} {
			p, err := Compile([]Rule{{Effect: effect, Tool: "t", When: when}}, Options{})
			if err != nil {
				if !errors.As(err, new(*Problem)) {
					t.Errorf("no problem: %v", err)
				}
				return
			}
			in := Input{Server: "s", Tool: "t", Arguments: json.RawMessage(arguments)}
			d := p.Decide(t.Context(), in)
			if d.Rule == nil || d.Effect.strictness() < 0 {
				t.Errorf("got %+v", d)
			}
			if p.Hides("s", "t", Annotations{}) && d.Effect != Deny {
				t.Errorf("hidden, but %s by %s", d.Effect, d.Rule)
			}
		}
	})
}
