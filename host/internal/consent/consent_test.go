package consent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/policy"
)

func compiled(t *testing.T, effect policy.Effect) *policy.Policy {
	t.Helper()
	rules, err := policy.Compile([]policy.Rule{{Effect: effect, Server: "files"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestAnApprovalHoldsUntilItIsWithdrawn(t *testing.T) {
	rules := compiled(t, policy.Allow)
	d := New(func() *policy.Policy { return rules }, func(guard.Source) bool { return true })
	d.Read(guard.Source{Server: "web", Tool: "fetch"}, guard.Untrusted, "a page")
	asked := 0
	consider := func(answer string) *Judgement {
		call := Call{Input: policy.Input{Server: "files", Tool: "write", Arguments: json.RawMessage(`{"text":"x"}`)}, Definitions: func() []guard.Source { return nil }}
		return d.Consider(t.Context(), call, func(*Judgement) string { asked++; return answer })
	}
	if j := consider("no"); j.Refusal != "no" || !j.Asked || len(j.Reasons) != 1 || !strings.Contains(j.Reasons[0], "web/fetch") || len(d.Approvals()) != 0 {
		t.Errorf("after a no: %+v, remembered are %+v", j, d.Approvals())
	}
	consider("")
	j := consider("no")
	if asked != 2 || j.Asked || j.Refusal != "" || d.TakenBack(t.Context(), j, false) != "" {
		t.Fatalf("after a yes, asked %d times: %+v", asked, j)
	}
	state, err := d.State()
	if err != nil {
		t.Fatal(err)
	}
	later := New(nil, nil)
	if later.Restore(state); len(later.Approvals()) != 1 || later.Labels() != guard.Untrusted {
		t.Errorf("restored are %+v, read was %v", later.Approvals(), later.Labels())
	}
	if remembered, recorded := d.Withdraw(d.Approvals()[0]); !remembered || !recorded || len(d.Approvals()) != 0 {
		t.Errorf("withdrawn: %v, %v; left are %+v", remembered, recorded, d.Approvals())
	}
	if why := d.TakenBack(t.Context(), j, false); !strings.Contains(why, "withdrew the permission") {
		t.Errorf("after it was withdrawn: %q", why)
	}
	rules = compiled(t, policy.Deny)
	if why := d.TakenBack(t.Context(), j, false); !strings.Contains(why, "Do not try") {
		t.Errorf("after it was forbidden: %q", why)
	}
	if j := consider(""); j.Asked || j.Refusal == "" {
		t.Errorf("what is forbidden: %+v", j)
	}
}

func TestUnreadableStateIsAssumedToBeTheWorst(t *testing.T) {
	d := New(nil, nil)
	d.Restore(json.RawMessage(`"not kept"`))
	if from := d.Sources(guard.Private | guard.Untrusted); d.Labels() != guard.Private|guard.Untrusted || len(from) != 1 || from[0].Server != FromBefore {
		t.Errorf("read was %v, of %v", d.Labels(), from)
	}
}

// What is granted allows until there is an answer; nothing that forbids or asks gives way to it.
func TestGrantsEndWithTheAnswer(t *testing.T) {
	none, err := policy.Compile(nil, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		rules          *policy.Policy
		granted, later string
	}{
		{"no rule", none, "allowed", "asked"},
		{"a rule that asks", compiled(t, policy.Ask), "asked", "asked"},
		{"a rule that denies", compiled(t, policy.Deny), "denied", "denied"},
	} {
		d := New(func() *policy.Policy { return test.rules }, func(guard.Source) bool { return true })
		if err := d.Grant(policy.Rule{Effect: policy.Allow, Server: "files"}); err != nil {
			t.Fatal(err)
		}
		consider := func() (*Judgement, string) {
			call := Call{Input: policy.Input{Server: "files", Tool: "write", Arguments: json.RawMessage(`{"text":"x"}`)}, Definitions: func() []guard.Source { return nil }}
			j := d.Consider(t.Context(), call, func(*Judgement) string { return "no" })
			switch {
			case j.Asked:
				return j, "asked"
			case j.Refusal != "":
				return j, "denied"
			}
			return j, "allowed"
		}
		j, granted := consider()
		d.Answered()
		if _, later := consider(); granted != test.granted || later != test.later {
			t.Errorf("%s: %s, and after the answer %s", test.name, granted, later)
		}
		if granted == "allowed" && !strings.Contains(d.TakenBack(t.Context(), j, false), "withdrew the permission") {
			t.Errorf("%s: a call that had not begun could be made after the answer", test.name)
		}
	}
	d := New(func() *policy.Policy { return none }, nil)
	if err := d.Grant(policy.Rule{Effect: policy.Allow, When: "nonsense("}); err == nil {
		t.Error("a rule that is none was granted")
	}
}

// The user of a chat cannot answer for a role.
func TestARuleThatAsksARoleRefuses(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Ask, Of: "role:sre", Server: "files"}, {Effect: policy.Ask}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := New(func() *policy.Policy { return rules }, func(guard.Source) bool { return true })
	call := Call{Input: policy.Input{Server: "files", Tool: "write"}, Definitions: func() []guard.Source { return nil }}
	j := d.Consider(t.Context(), call, func(*Judgement) string { t.Error("the user is asked"); return "" })
	if j.Asked || !strings.Contains(j.Refusal, "asks role:sre, whom only a gateway can ask") {
		t.Errorf("got %+v", j)
	}
}
