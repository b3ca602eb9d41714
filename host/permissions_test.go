package host

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/policy"
)

func TestARuleThatIsRemovedDoesNotHold(t *testing.T) {
	t.Parallel()
	yes := &desk{consent: func(card ApprovalCard) Verdict { return Verdict{Allow: true, Rule: &card.Always[0].Rule} }}
	write := scripted.Call("files__write", `{"text":"a"}`)
	s := play(t, Options{Servers: []Server{stranger("files", "a file")}, Person: yes}, write, write, scripted.Say("done"), write, scripted.Say("done"))
	c := s.Conversation(nil)
	ask(t, c, "write twice")
	rules := s.Rules()
	if len(yes.cards) != 1 || rules[0].Source != "session" || len(rules) != 3 {
		t.Fatalf("%d cards, the rules are %+v", len(yes.cards), rules)
	}
	if err := s.RemoveRule(rules[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveRule(rules[0]); err == nil || !strings.Contains(err.Error(), "the rule allow tool") {
		t.Errorf("removed twice: %v", err)
	}
	if ask(t, c, "write again"); len(yes.cards) != 2 {
		t.Errorf("%d cards", len(yes.cards))
	}
}

func TestAYesOfTheConversationIsWithdrawn(t *testing.T) {
	t.Parallel()
	read, write := scripted.Call("memory__read", `{}`), scripted.Call("files__write", `{"text":"a"}`)
	s := play(t, Options{Servers: []Server{stranger("files", "a file"), stranger("memory", "a memory")}}, read, write, scripted.Say("done"))
	var record entries
	c := s.Conversation(&record)
	ask(t, c, "read and write")
	all := c.Approvals()
	i := slices.IndexFunc(all, func(a guard.Approval) bool {
		return a.Server == "files" && a.Tool == "write" && a.Reason == guard.Tainted
	})
	if i < 0 || !slices.Contains(all[i].Sources, guard.Source{Server: "memory", Origin: policy.OriginOf([]string{"npx", "memory"}), Tool: "read"}) {
		t.Fatalf("remembered are %+v", all)
	}
	if err := c.Withdraw(all[i]); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*Conversation{"here": c, "resumed": s.Conversation(nil, record...)} {
		if left := c.Approvals(); len(left) != len(all)-1 {
			t.Errorf("%s there are %+v", what, left)
		}
	}
	if err := c.Withdraw(all[i]); err == nil || !strings.Contains(err.Error(), "no longer remembered") {
		t.Errorf("withdrawn twice: %v", err)
	}
}

// The end of a run records what was read and agreed to, at the same time, but no older state
// after a newer one.
func TestAYesThatIsWithdrawnAsARunEndsStaysWithdrawn(t *testing.T) {
	t.Parallel()
	s := play(t, Options{Servers: []Server{stranger("files", "a file")}}, scripted.Call("files__read", `{}`), scripted.Call("files__write", `{"text":"a"}`), scripted.Say("done"))
	var record entries
	c := s.Conversation(&record)
	ask(t, c, "read and write")
	all := c.Approvals()
	if len(all) != 1 {
		t.Fatalf("remembered are %+v", all)
	}
	c.decider.Read(guard.Source{Server: "files", Tool: "read"}, guard.Untrusted, "more")
	c.adding.Lock()
	saved := make(chan error)
	go func() { saved <- c.saveFlow() }()
	for !waitsInSaveFlow() {
		runtime.Gosched()
	}
	c.decider.Withdraw(all[0]) // as Withdraw does, before it records it
	c.adding.Unlock()
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	if left := s.Conversation(nil, record...).Approvals(); len(left) != 0 {
		t.Errorf("resumed, there are %+v", left)
	}
}

// waitsInSaveFlow reports whether a goroutine waits for its turn to record what was read.
func waitsInSaveFlow() bool {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "[sync.Mutex.Lock") && strings.Contains(stack, ".saveFlow(") {
			return true
		}
	}
	return false
}

// A conversation that continues from an earlier entry, or an older conversation, trusts no server.
func TestReadDataOfADistrustedServerIsUntrusted(t *testing.T) {
	t.Parallel()
	trusted := stranger("files", "a file")
	trusted.Trusted = true
	s := play(t, Options{Servers: []Server{trusted}}, scripted.Call("files__read", `{}`), scripted.Say("done"))
	var record entries
	c := s.Conversation(&record)
	ask(t, c, "read")
	before := slices.Clone(record)
	if early := s.Conversation(nil, before...); early.decider.Labels()&guard.Untrusted != 0 {
		t.Fatalf("what was read is %v", early.decider.Labels())
	}
	if err := c.Distrust("files"); err != nil {
		t.Fatal(err)
	}
	if early := s.Conversation(nil, before...); early.decider.Labels()&guard.Untrusted == 0 {
		t.Errorf("what was read is %v", early.decider.Labels())
	}
}

// entries is a record in memory.
type entries []Entry

func (e *entries) Append(entry Entry) error { *e = append(*e, entry); return nil }

func TestTrustCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	trusted := stranger("files", "a file")
	trusted.Trusted = true
	s := play(t, Options{Servers: []Server{trusted}}, scripted.Call("files__read", `{}`), scripted.Say("done"), scripted.Say("done"))
	c := s.Conversation(nil)
	ask(t, c, "read")
	if len(s.desk.reviews) != 0 || c.decider.Labels()&guard.Untrusted != 0 {
		t.Fatalf("of a trusted server: %+v, %v", s.desk.reviews, c.decider.Labels())
	}
	if err := c.Distrust("files"); err != nil {
		t.Fatal(err)
	}
	if c.decider.Labels()&guard.Untrusted == 0 || s.Servers()[0].Trusted {
		t.Errorf("what was read is %v, of %+v", c.decider.Labels(), s.Servers())
	}
	if ask(t, c, "and now?"); len(s.desk.reviews) != 1 {
		t.Errorf("%d reviews", len(s.desk.reviews))
	}
	if err := errors.Join(c.Trust("files", false)); err != nil || c.decider.Labels()&guard.Untrusted != 0 || !s.Servers()[0].Trusted {
		t.Errorf("%v; trusted again, what was read is %v", err, c.decider.Labels())
	}
	for name, err := range map[string]error{"none": c.Trust("none", true), "gone": c.Distrust("gone")} {
		if err == nil || !strings.Contains(err.Error(), "no server") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestApprovalsAreForgotten(t *testing.T) {
	t.Parallel()
	pins, err := guard.Load(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, Options{Servers: []Server{stranger("files", "a file")}, Pins: pins}, scripted.Say("one"), scripted.Say("two"), scripted.Say("three"))
	c := s.Conversation(nil)
	ask(t, c, "one")
	ask(t, c, "two")
	if names := pins.Servers(); len(s.desk.reviews) != 1 || !slices.Equal(names, []string{"files"}) {
		t.Fatalf("%d reviews, approved is something of %q", len(s.desk.reviews), names)
	}
	if err := s.Disapprove("files"); err != nil {
		t.Fatal(err)
	}
	if ask(t, c, "three"); len(s.desk.reviews) != 2 || !s.desk.reviews[1].First {
		t.Errorf("the reviews are %+v", s.desk.reviews)
	}
}

func TestWordsOfADistrustedServerAreUntrusted(t *testing.T) {
	t.Parallel()
	gateway, public := upGateway(), stranger("files", "a page")
	gateway.Trusted, public.Trusted, public.Public = true, true, true
	for _, test := range []struct {
		name, call string
		server     Server
	}{
		{"a member of a gateway", "files__look", gateway},
		{"a server that has nothing private", "files__read", public},
	} {
		var record entries
		s := play(t, Options{Servers: []Server{test.server}}, scripted.Call(test.call, `{}`), scripted.Say("done"), scripted.Say("done"))
		c := s.Conversation(&record)
		ask(t, c, "read")
		if labels := c.decider.Labels(); labels&guard.Untrusted != 0 {
			t.Fatalf("%s: what a trusted server says is %v", test.name, labels)
		}
		read := slices.Clone(record)
		other := s.Conversation(nil, read...)
		if err := c.Distrust(test.server.Name); err != nil {
			t.Fatal(err)
		}
		if c.decider.Labels()&guard.Untrusted == 0 {
			t.Errorf("%s: what was read is %v", test.name, c.decider.Labels())
		}
		if ask(t, other, "and there?"); other.decider.Labels()&guard.Untrusted == 0 {
			t.Errorf("%s: in another conversation, what was read is %v", test.name, other.decider.Labels())
		}
		if err := c.Trust(test.server.Name, false); err != nil || c.decider.Labels()&guard.Untrusted != 0 {
			t.Errorf("%s: trusted again, what was read is %v, %v", test.name, c.decider.Labels(), err)
		}

		test.server.Trusted = false
		s = play(t, Options{Servers: []Server{test.server}}, scripted.Say("done"))
		c = s.Conversation(nil, read...)
		ask(t, c, "and now?")
		if c.decider.Labels()&guard.Untrusted == 0 {
			t.Errorf("%s: resumed without trust, what was read is %v", test.name, c.decider.Labels())
		}
	}
}
