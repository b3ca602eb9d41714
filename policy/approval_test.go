package policy

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestRulesThatAskARole(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  Rule
		fault string
	}{
		{"all members", Rule{Effect: Ask, Of: "role:sre-1", Within: "30m", For: "1h", Self: true}, ""},
		{"one that allows", Rule{Effect: Allow, Of: "role:sre"}, `goes only with the effect "ask"`},
		{"one that denies", Rule{Effect: Deny, Of: "role:sre"}, `goes only with the effect "ask"`},
		{"no kind", Rule{Effect: Ask, Of: "sre"}, `expected "role:NAME"`},
		{"no name", Rule{Effect: Ask, Of: "role:"}, `expected "role:NAME"`},
		{"a name with a space", Rule{Effect: Ask, Of: "role:a b"}, `expected "role:NAME"`},
		{"a time of no role", Rule{Effect: Ask, Within: "5m"}, `within, for and self go with "of"`},
		{"self of no role", Rule{Effect: Ask, Self: true}, `within, for and self go with "of"`},
		{"no unit", Rule{Effect: Ask, Of: "role:sre", Within: "5"}, "within: expected a time from 1s to 24h0m0s"},
		{"too long", Rule{Effect: Ask, Of: "role:sre", Within: "25h"}, "within: expected a time"},
		{"for nothing", Rule{Effect: Ask, Of: "role:sre", For: "-1s"}, "for: expected a time"},
	} {
		_, err := Compile([]Rule{c.rule}, Options{})
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
	if got, ok := (&Rule{Of: "role:sre"}).Approval(); !ok || got != (Approval{Role: "sre", Within: 10 * time.Minute}) {
		t.Errorf("without times: %+v, %v", got, ok)
	}
}

func TestWhoIsAsked(t *testing.T) {
	sre, dba := Rule{Effect: Ask, Of: "role:sre"}, Rule{Effect: Ask, Of: "role:dba", When: "args.x == 1"}
	for _, c := range []struct {
		name  string
		rules []Rule
		args  string
		roles string
		user  bool
	}{
		{"no rule", nil, "{}", "", true},
		{"one role", []Rule{sre}, "{}", "sre", false},
		{"both roles", []Rule{sre, dba}, `{"x":1}`, "sre dba", false},
		{"a condition that is false", []Rule{sre, dba}, `{"x":2}`, "sre", false},
		{"a condition that fails", []Rule{dba}, "{}", "dba", false},
		{"a role and the user", []Rule{sre, {Effect: Ask}}, "{}", "sre", true},
		{"a rule that allows does not help", []Rule{sre, {Effect: Allow}}, "{}", "sre", false},
		{"a rule that denies", []Rule{sre, {Effect: Deny}}, "{}", "", false},
		{"a rule that denies and fails", []Rule{sre, {Effect: Deny, When: "args.x == 1"}}, "{}", "sre", true},
	} {
		p, err := Compile(c.rules, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(context.Background(), Input{Server: "s", Tool: "t", Arguments: []byte(c.args)})
		rules, user := d.Approvals()
		var roles []string
		for _, r := range rules {
			a, _ := r.Approval()
			roles = append(roles, a.Role)
		}
		if got := strings.Join(roles, " "); got != c.roles || user != c.user {
			t.Errorf("%s: %q, user %v", c.name, got, user)
		}
	}
}
