package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestUnknownValuesDecideNothing(t *testing.T) {
	const arguments = `{"token":"***","path":"/tmp/x","list":["***"]}`
	hidden := []string{"args.token", "args.list"}
	for _, test := range []struct {
		name, rule string
		byDefault  Effect
		in         Input
		want       Effect
		unknown    string
	}{
		{"a rule that does not look at it decides", `{"effect":"deny","when":"args.path.startsWith('/tmp')"}`, Allow, Input{Unknown: hidden}, Deny, ""},
		{"a member", `{"effect":"deny","when":"args.token == 'x'"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
		{"a member by its index", `{"effect":"deny","when":"args['token'] == 'x'"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
		{"something in a list with hidden texts", `{"effect":"deny","when":"'x' in args.list"}`, Allow, Input{Unknown: hidden}, Ask, "args.list"},
		{"some of that list", `{"effect":"deny","when":"args.list.exists(x, x == 'x')"}`, Allow, Input{Unknown: hidden}, Ask, "args.list"},
		{"a function of it", `{"effect":"deny","when":"glob(args.token, 'x*')"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
		{"its size", `{"effect":"deny","when":"size(args.token) > 3"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
		{"what is in it", `{"effect":"deny","when":"args.token.inner.most == 1"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
		{"that it is there is known", `{"effect":"deny","when":"has(args.token)"}`, Allow, Input{Unknown: hidden}, Deny, ""},
		{"that it is in there is known", `{"effect":"deny","when":"'token' in args && size(args) == 3"}`, Allow, Input{Unknown: hidden}, Deny, ""},
		{"the other side decides", `{"effect":"deny","when":"args.token == 'x' || args.path == '/tmp/x'"}`, Allow, Input{Unknown: hidden}, Deny, ""},
		{"the other side does not hold", `{"effect":"deny","when":"args.token == 'x' && args.path == '/y'"}`, Allow, Input{Unknown: hidden}, Allow, ""},
		{"any member", `{"effect":"deny","when":"args.exists(k, args[k] == 'x')"}`, Allow, Input{Unknown: hidden}, Ask, "args.list args.token"},
		{"all of the arguments", `{"effect":"deny","when":"args == {'token': 'x'}"}`, Allow, Input{Unknown: hidden}, Ask, "args"},
		{"all of them in a list", `{"effect":"deny","when":"{'token': 'x'} in [args]"}`, Allow, Input{Unknown: hidden}, Ask, "args"},
		{"all of them, of which all are known", `{"effect":"deny","when":"args != {'token': 'x'}"}`, Allow, Input{}, Deny, ""},
		{"no arguments are known", `{"effect":"deny","when":"has(args.x)"}`, Allow, Input{Unknown: []string{"args"}}, Ask, "args"},
		{"the groups of the caller", `{"effect":"deny","when":"'eng' in principal.groups"}`, Allow, Input{Unknown: []string{"principal.groups"}}, Ask, "principal.groups"},
		{"whether there are groups", `{"effect":"deny","when":"!has(principal.groups)"}`, Allow, Input{Unknown: []string{"principal.groups"}}, Ask, "principal.groups"},
		{"another member of the caller", `{"effect":"deny","when":"principal.subject == 'ann' || 'eng' in principal.groups"}`, Allow, Input{Principal: Principal{Subject: "ann"}, Unknown: []string{"principal.groups"}}, Deny, ""},
		{"a title", `{"effect":"deny","when":"title.contains('x')"}`, Allow, Input{Unknown: []string{"title"}}, Ask, "title"},
		{"what it claims", `{"effect":"deny","when":"annotations.destructive"}`, Allow, Input{Unknown: []string{"annotations"}}, Ask, "annotations"},
		{"whether it claims that it reads", `{"effect":"allow","when":"annotations.readOnly"}`, Ask, Input{Unknown: []string{"annotations"}}, Ask, "annotations"},
		{"whether it claims something", `{"effect":"deny","when":"has(annotations.openWorld)"}`, Allow, Input{Unknown: []string{"annotations"}}, Ask, "annotations"},
		{"a resource", `{"effect":"deny","when":"host(resource) == 'x'"}`, Allow, Input{Unknown: []string{"resource"}}, Ask, "resource"},
		{"whether it is trusted", `{"effect":"deny","when":"!trusted"}`, Allow, Input{Unknown: []string{"trusted"}}, Ask, "trusted"},
		{"the origin", `{"effect":"deny","origin":"abc","server":"s"}`, Allow, Input{Server: "s", Unknown: []string{"origin"}}, Ask, "origin"},
		{"the origin, of another server", `{"effect":"deny","origin":"abc","server":"other"}`, Allow, Input{Server: "s", Unknown: []string{"origin"}}, Allow, ""},
		{"the origin, where the condition does not hold", `{"effect":"deny","origin":"abc","server":"s","when":"false"}`, Allow, Input{Server: "s", Unknown: []string{"origin"}}, Allow, ""},
		{"the server", `{"effect":"deny","server":"files"}`, Allow, Input{Unknown: []string{"server"}}, Ask, "server"},
		{"the server, where it may be any", `{"effect":"deny","server":"*"}`, Allow, Input{Server: "x", Unknown: []string{"server"}}, Deny, ""},
		{"the tool", `{"effect":"deny","tool":"delete_*"}`, Allow, Input{Unknown: []string{"tool"}}, Ask, "tool"},
		{"the tool, where the condition fails", `{"effect":"deny","tool":"delete_*","when":"args.none == 1"}`, Allow, Input{Unknown: []string{"tool"}}, Ask, "tool"},
		{"the tool, in a condition", `{"effect":"deny","when":"tool == 'x'"}`, Allow, Input{Unknown: []string{"tool"}}, Ask, "tool"},
		{"what allows, where all is allowed", `{"effect":"allow","when":"args.token == 'x'"}`, Allow, Input{Unknown: hidden}, Allow, ""},
		{"what allows, where all is denied", `{"effect":"allow","when":"args.token == 'x'"}`, Deny, Input{Unknown: hidden}, Deny, "args.token"},
		{"what asks, where another denies", `{"effect":"ask","when":"args.token == 'x'"},{"effect":"deny"}`, Allow, Input{Unknown: hidden}, Deny, ""},
		{"what asks, where another asks", `{"effect":"ask","when":"args.token == 'x'"},{"effect":"ask","name":"other"}`, Allow, Input{Unknown: hidden}, Ask, ""},
		{"what denies, where another asks", `{"effect":"deny","when":"args.token == 'x'"},{"effect":"ask"}`, Allow, Input{Unknown: hidden}, Ask, "args.token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rules []Rule
			if err := json.Unmarshal([]byte("["+test.rule+"]"), &rules); err != nil {
				t.Fatal(err)
			}
			for i := range rules {
				if rules[i].Tool == "" {
					rules[i].Tool = "*"
				}
			}
			p, err := Compile(rules, Options{Default: test.byDefault})
			if err != nil {
				t.Fatal(err)
			}
			test.in.Tool, test.in.Arguments = "t", json.RawMessage(arguments)
			for name, d := range map[string]Decision{"decided": p.Decide(context.Background(), test.in), "explained": p.Explain(context.Background(), test.in)} {
				if got := strings.Join(d.Unknown, " "); d.Effect != test.want || got != test.unknown {
					t.Errorf("%s: got %s, not known %q, because %s", name, d.Effect, got, d.Reason)
				}
			}
		})
	}
}
