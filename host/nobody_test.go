package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// keeper is a trusted server with a tool that writes, and that asks before it does.
func keeper() Server {
	s := mcp.NewServer("keeper", "1.0")
	mcp.AddToolWith(s, mcp.Tool{Name: "write", Description: "Write.", Annotations: writes}, func(context.Context, struct{}) (string, error) { return "written", nil })
	return Server{Name: "keeper", Handler: s, Trusted: true}
}

func TestTheModelLearnsThatNoUserCanAnswer(t *testing.T) {
	for name, person := range map[string]Person{"no person is given": nil, "the person says that nobody is there": nobody{}} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(scripted.Call("keeper__write", `{}`), scripted.Say("I may not."))
			var reported []*Consented
			h, err := New(Options{Model: model, Person: person, Servers: []Server{keeper()}, OnEvent: func(e Event) {
				if e.Consent != nil {
					reported = append(reported, e.Consent)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			answer := ask(t, h.Conversation(nil), "write")
			requests := model.Requests()
			messages := requests[len(requests)-1].Messages
			if got := messages[len(messages)-1].Parts[0].Result.Text(); !strings.Contains(got, "no user can be asked (it may write and delete; no rule allows it yet)") || strings.Contains(got, "person") {
				t.Errorf("the model gets %q", got)
			}
			if len(reported) != 1 || reported[0].By != byHost || reported[0].Allowed || answer.Totals.Asked != 0 {
				t.Errorf("reported %+v, asked %d times", reported, answer.Totals.Asked)
			}
		})
	}
}

// Whoever shows what the server claims of a call need not show it a second time.
func TestCardWithoutEffectsNamesTheMissingRule(t *testing.T) {
	asked := &desk{consent: func(ApprovalCard) Verdict { return Verdict{} }}
	s := play(t, Options{Servers: []Server{keeper()}, Person: asked}, scripted.Call("keeper__write", `{}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write")
	if len(asked.cards) != 1 || asked.cards[0].NoRule != "no rule allows it yet" || asked.cards[0].Reasons[0] != "it may write and delete; no rule allows it yet" {
		t.Errorf("the cards are %+v", asked.cards)
	}
}

func TestRulesOfTheSessionAreMarked(t *testing.T) {
	s := play(t, Options{Servers: []Server{keeper()}, Person: &desk{consent: func(c ApprovalCard) Verdict {
		return Verdict{Allow: true, Rule: &c.Always[0].Rule}
	}}}, scripted.Call("keeper__write", `{}`), scripted.Call("keeper__write", `{}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write twice")
	var by []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Consent != nil }) {
		by = append(by, e.Consent.By)
	}
	if got := strings.Join(by, " "); got != "person session" {
		t.Errorf("decided by %s", got)
	}
}

func TestARuleThatCannotBeKeptHoldsAndSaysUntilWhen(t *testing.T) {
	var s *stage
	always := func(c ApprovalCard) Verdict { return Verdict{Allow: true, Rule: &c.Always[0].Rule, Forever: true} }
	s = play(t, Options{Servers: []Server{keeper()}, Person: &desk{consent: always}, Remember: func(policy.Rule) error {
		s.Tools() // whoever keeps rules may ask the host
		return errors.New("the disk is full")
	}}, scripted.Call("keeper__write", `{}`), scripted.Call("keeper__write", `{}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write twice")
	if got := s.notices(NoticeServer); len(got) != 1 || got[0] != "the rule is in effect only until the program ends: the disk is full" || len(s.desk.cards) != 1 {
		t.Errorf("reported %q, asked %d times", got, len(s.desk.cards))
	}
}
