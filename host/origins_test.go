package host

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// from is a stranger that is started by another command.
func from(pkg string) Server {
	s := stranger("files", "a file")
	s.Origin = []string{"npx", pkg}
	return s
}

// upGateway is a gateway with one member, files, which has a tool that writes and one that reads.
func upGateway() Server {
	s := mcp.NewServer("up", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "files__post", Description: "Post.", Annotations: writes}, func(context.Context, struct{}) (string, error) { return "posted", nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "files__look", Description: "Look.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "a letter", nil })
	return Server{Name: "up", Handler: s, Prefixed: true, Origin: []string{"http://127.0.0.1/mcp"}}
}

// allowingAll is a policy that allows all of the servers.
func allowingAll(t *testing.T, servers ...string) *policy.Policy {
	t.Helper()
	var rules []policy.Rule
	for _, name := range servers {
		rules = append(rules, policy.Rule{Effect: policy.Allow, Server: name})
	}
	p, err := policy.Compile(rules, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a server itself said is part of what a rule for it allows; what another one said that
// went by its name is not.
func TestAResumedConversationIdentifiesServersByTheirCommands(t *testing.T) {
	t.Parallel()
	for pkg, cards := range map[string]int{"good": 0, "evil": 1} {
		var record entries
		s := play(t, Options{Servers: []Server{from("good")}, Policy: allowingAll(t, "files")}, scripted.Call("files__read", `{}`), scripted.Say("done"))
		ask(t, s.Conversation(&record), "read")
		s = play(t, Options{Servers: []Server{from(pkg)}, Policy: allowingAll(t, "files")}, scripted.Call("files__write", `{"text":"x"}`), scripted.Say("done"))
		ask(t, s.Conversation(nil, record...), "write")
		if len(s.desk.cards) != cards {
			t.Errorf("as %s: %d cards, want %d", pkg, len(s.desk.cards), cards)
		}
	}
}

func TestAMemberOfAGatewayIsNotTheServerOfItsName(t *testing.T) {
	t.Parallel()
	local, builtIn, up := stranger("files", "a file"), stranger("files", "a file"), upGateway()
	builtIn.Origin, up.Origin = nil, nil
	for name, servers := range map[string][]Server{"with origins": {local, upGateway()}, "parts of one program": {builtIn, up}} {
		s := play(t, Options{Servers: servers, Policy: allowingAll(t, "files")},
			scripted.Call("files__read", `{}`), scripted.Call("files__post", `{}`), scripted.Say("done"))
		ask(t, s.Conversation(nil), "read and post")
		if len(s.desk.cards) != 1 || s.desk.cards[0].Tool != "post" || !strings.Contains(strings.Join(s.desk.cards[0].Reasons, " "), "files/read (another server of that name)") {
			t.Errorf("%s: the cards are %+v", name, s.desk.cards)
		}
	}
}

// A rule that a card wrote for a member is for no local server, and the other way round.
func TestARuleForAMemberIsNotForTheServerOfItsName(t *testing.T) {
	t.Parallel()
	local, up := stranger("files", "a file"), upGateway()
	local.Origin, up.Origin = nil, nil
	s := play(t, Options{Servers: []Server{local, up}, Person: choosing("all tools")},
		scripted.Call("files__post", `{}`), scripted.Call("files__post", `{}`), scripted.Call("files__write", `{"text":"x"}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "post and write")
	var asked []string
	for _, card := range s.desk.cards {
		asked = append(asked, card.Tool)
	}
	if !slices.Equal(asked, []string{"post", "write"}) {
		t.Errorf("asked about %q", asked)
	}
}

func TestReservedServerNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"what was attached", "An earlier session", " what was remembered "} {
		h, err := New(Options{Model: scripted.New(), Servers: []Server{{Name: name, Handler: mcp.NewServer("x", "1")}}})
		if err == nil {
			h.Close()
			t.Errorf("a server could be called %q", name)
		}
	}
	up := &server{Server: Server{Name: "up", Prefixed: true}}
	if of := up.tool(&mcp.Tool{Name: "what was attached__post"}, model.NewNames()); of.ref.Server != "up" || of.origin() != up.origin() {
		t.Errorf("a member's tool is that of %q", of.ref.Server)
	}
}

// Whoever trusts from a card trusts the server of the card, and no other one of its name.
func TestACardOfAMemberTrustsNoServerOfItsName(t *testing.T) {
	t.Parallel()
	offered := false
	yes := &desk{consent: func(card ApprovalCard) Verdict {
		offered = offered || card.CanTrust
		return Verdict{Allow: true, Trust: true, Forever: true}
	}}
	var kept []string
	s := play(t, Options{Servers: []Server{stranger("files", "a file"), upGateway()}, Person: yes, RememberTrust: func(name string) error { kept = append(kept, name); return nil }},
		scripted.Call("files__post", `{}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "post")
	if len(yes.cards) != 1 || offered || len(kept) != 0 {
		t.Errorf("%d cards, trust was offered: %v, and kept of %q", len(yes.cards), offered, kept)
	}
	for _, server := range s.Servers() {
		if server.Trusted {
			t.Errorf("server %q is trusted", server.Server)
		}
	}
}
