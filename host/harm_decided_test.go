package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// allowing is a policy that allows all of a server.
func allowing(t *testing.T, server string) *policy.Policy {
	t.Helper()
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Allow, Server: server}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// disk is a server that writes, and what happens meanwhile.
func disk(wrote *[]string, meanwhile func()) Server {
	s := mcp.NewServer("disk", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "write", Description: "Write.", Annotations: writes}, func(_ context.Context, in words) (string, error) {
		*wrote = append(*wrote, in.Text)
		meanwhile()
		return "written", nil
	})
	mcp.AddToolWith(s, mcp.Tool{Name: "read", Description: "Read.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) {
		*wrote = append(*wrote, "(read)")
		return "text", nil
	})
	return Server{Name: "files", Handler: s, Origin: []string{"npx", "files"}}
}

var twoWrites = scripted.Reply(scripted.Calling("files__write", `{"text":"a"}`), scripted.Calling("files__write", `{"text":"b"}`))

// While the first of two calls runs, the user switches the server off.
func TestAServerThatIsOffGetsNoCallThatWasDecided(t *testing.T) {
	for name, turns := range map[string][]scripted.Turn{
		"by the model":     {twoWrites, scripted.Say("done")},
		"by its sub-agent": {delegate("write"), twoWrites, scripted.Say("done"), scripted.Say("done")},
	} {
		t.Run(name, func(t *testing.T) {
			var c *Conversation
			var wrote []string
			s := play(t, Options{Tools: delegating(Limits{}), Policy: allowing(t, "files"), Servers: []Server{disk(&wrote, func() {
				if err := c.SetOff("files", true); err != nil {
					t.Error(err)
				}
			})}}, turns...)
			c = s.Conversation(nil)
			ask(t, c, "write")
			if !slices.Equal(wrote, []string{"a"}) {
				t.Errorf("written is %q, though the server was switched off after the first", wrote)
			}
		})
	}
}

// While the first of two calls runs, the user withdraws what allowed both.
func TestACallIsNotMadeAfterItsApprovalIsWithdrawn(t *testing.T) {
	memory := stranger("memory", "a memory")
	memory.Trusted = true
	for name, takeBack := range map[string]func(*stage, *Conversation) error{
		"the rule": func(s *stage, _ *Conversation) error {
			i := slices.IndexFunc(s.Rules(), func(r policy.Rule) bool { return r.Server == "files" })
			return s.RemoveRule(s.Rules()[i])
		},
		"by a rule that denies": func(s *stage, _ *Conversation) error {
			return s.Rule(policy.Rule{Effect: policy.Deny, Server: "files"}, false)
		},
		"by a rule that asks": func(s *stage, _ *Conversation) error {
			return s.Rule(policy.Rule{Effect: policy.Ask, Server: "files"}, false)
		},
		"the yes": func(_ *stage, c *Conversation) (err error) {
			for _, a := range c.Approvals() {
				err = errors.Join(err, c.Withdraw(a))
			}
			return err
		},
		"the trust in what was read": func(_ *stage, c *Conversation) error { return c.Distrust("memory") },
	} {
		t.Run(name, func(t *testing.T) {
			var s *stage
			var c *Conversation
			var wrote []string
			files := disk(&wrote, func() {
				if len(wrote) == 1 {
					if err := takeBack(s, c); err != nil {
						t.Error(err)
					}
				}
			})
			s = play(t, Options{Policy: allowing(t, "files"), Servers: []Server{files, memory, stranger("web", "a page")}},
				scripted.Call("web__read", `{}`), scripted.Call("memory__read", `{}`), twoWrites, scripted.Say("done"))
			c = s.Conversation(nil)
			ask(t, c, "read and write")
			if !slices.Equal(wrote, []string{"a"}) {
				t.Errorf("written is %q", wrote)
			}
			if got := s.results(t)[1].Text(); !strings.Contains(got, "ot allowed") && !strings.Contains(got, "No longer allowed") {
				t.Errorf("the model reads %q", got)
			}
		})
	}
}

// The card for a resource names a rule that allows it, which is removed before there is an answer.
func TestAResourceIsNotReadAfterItsRuleIsWithdrawn(t *testing.T) {
	var s *stage
	person := &desk{consent: func(card ApprovalCard) Verdict {
		if card.Allowed == nil {
			t.Fatalf("asked %+v", card)
		}
		if err := s.RemoveRule(*card.Allowed); err != nil {
			t.Error(err)
		}
		return Verdict{Allow: true}
	}}
	s = play(t, Options{Person: person, Policy: allowing(t, "library"), Servers: []Server{library(t), stranger("web", "a page")}},
		scripted.Call("web__read", `{}`), scripted.Call("read_resource", `{"uri":"book://one"}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "read")
	if got := s.results(t)[0].Text(); len(person.cards) != 1 || !strings.Contains(got, "No longer allowed") {
		t.Errorf("%d cards, and the model reads %q", len(person.cards), got)
	}
}

// The person answers "never" to the second of two calls, before the first one is made.
func TestANeverIsOneForCallsThatWereDecided(t *testing.T) {
	for label, want := range map[string][]string{"exactly this call": {"a"}, "this tool, with any arguments": nil} {
		t.Run(label, func(t *testing.T) {
			var wrote []string
			person := &desk{consent: func(card ApprovalCard) Verdict {
				if !strings.Contains(string(card.Arguments), `"b"`) {
					return Verdict{Allow: true}
				}
				i := slices.IndexFunc(card.Never, func(a AlwaysRule) bool { return a.Label == label })
				return Verdict{Rule: &card.Never[i].Rule}
			}}
			s := play(t, Options{Person: person, Servers: []Server{disk(&wrote, func() {})}}, twoWrites, scripted.Say("done"))
			ask(t, s.Conversation(nil), "write")
			if !slices.Equal(wrote, want) || len(person.cards) != 2 {
				t.Errorf("written is %q after %d cards", wrote, len(person.cards))
			}
		})
	}
}
