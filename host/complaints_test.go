package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/host/internal/history"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// anthropics/claude-code#6702, #13717, #11364: 67,000 to 117,000 tokens of
// definitions before the first word, and nobody knows which server they are of.
func TestClaudeCode6702ToolDefinitionsAreDeferredAndTheirCostIsShown(t *testing.T) {
	m := scripted.New(scripted.Say("hello")).As(model.Info{Language: true, Window: 200_000})
	s := play(t, Options{Model: m, Servers: crowd(t, 600, 12)})
	c := s.Conversation(nil)
	ask(t, c, "hello")
	all := 0
	for _, reported := range s.eventsOf(func(e Event) bool { return e.Listed != nil })[0].Listed.Servers {
		if reported.Tokens < 1_000 {
			t.Errorf("server %s is said to cost %d tokens", reported.Server, reported.Tokens)
		}
		all += reported.Tokens
	}
	if sent := window.TokensOf(m.Requests()[0].Tools); all < 100_000 || sent > 500 {
		t.Errorf("of %d tokens of definitions %d were sent", all, sent)
	}
	deferred := 0
	for _, p := range c.WindowUse().Parts {
		deferred += p.Deferred
	}
	if deferred != all {
		t.Errorf("the ledger shows %d deferred tokens, want %d", deferred, all)
	}
}

// anthropics/claude-code#7328, #30480: a tool that is denied still sits in the context.
func TestClaudeCode7328ADeniedToolIsNotInTheContext(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Deny, Server: "calc", Tool: "add"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, Options{Policy: rules, Servers: []Server{calculator()}}, scripted.Say("hello"))
	ask(t, s.Conversation(nil), "hello")
	if got := namesOf(s.last(t).Tools); !slices.Equal(got, []string{readName, "calc__fail"}) {
		t.Errorf("the model has %v", got)
	}
	if reported := s.Servers()[0]; reported.Tools != 2 || reported.Seen != 1 {
		t.Errorf("reported %+v", reported)
	}
}

// anthropics/claude-code#7732: there is a limit for what tools return, and none for
// what they are described with.
func TestClaudeCode7732DefinitionsHaveABudget(t *testing.T) {
	for _, budget := range []int{1_000, 4_000, 100_000} {
		s := play(t, Options{WindowShares: WindowShares{Tools: budget}, Servers: crowd(t, 40, 8)}, scripted.Say("hello"))
		ask(t, s.Conversation(nil), "hello")
		if got := window.TokensOf(s.last(t).Tools); got > budget+200 {
			t.Errorf("%d tokens are sent with a budget of %d", got, budget)
		}
	}
}

// microsoft/vscode#294055, #255585: a limit of 128 tools in which others count
// too, and a number shown that is not the one that counts.
func TestVSCode294055CountsAreHonestAndAServerCanStay(t *testing.T) {
	for _, tools := range []int{127, 128, 129} {
		m := scripted.New(scripted.Say("hello")).As(model.Info{Language: true, MaxTools: 128})
		s := play(t, Options{Model: m, Servers: crowd(t, tools, 10), WindowShares: WindowShares{Tools: -1, Always: []string{"vendor04"}}})
		ask(t, s.Conversation(nil), "hello")
		listed := s.eventsOf(func(e Event) bool { return e.Listed != nil })[0].Listed
		sent := namesOf(m.Requests()[0].Tools)
		if len(sent) > 128 || listed.Native != len(sent) || listed.Deferred+listed.Native-len(builtins()) != tools && listed.Deferred > 0 {
			t.Errorf("%d tools: %d are sent, %d said to be, %d deferred", tools, len(sent), listed.Native, listed.Deferred)
		}
		if !slices.ContainsFunc(sent, func(name string) bool { return strings.HasPrefix(name, "vendor04__") }) {
			t.Errorf("%d tools: those of the server that stays are not among %v", tools, sent)
		}
	}
}

// github/copilot-cli#4623, danny-avila/LibreChat#13845: one odd schema breaks the whole
// request, and no tool is named.
func TestCopilotCLI4623OneOddSchemaIsNamedAndTheRequestGoesOn(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}}, scripted.Respond(&model.Response{
		Message: model.Message{Parts: []model.Part{{Text: "hello"}}},
		Notes:   []model.Note{{Tool: "calc__fail", SetAside: true, Text: "the schema has no type"}, {Tool: "calc__add", Text: "format was left out"}},
	}), scripted.Say("hello again"))
	c := s.Conversation(nil)
	ask(t, c, "hello")
	var reported []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Notice != nil && e.Notice.Kind == NoticeLowered }) {
		reported = append(reported, e.Notice.Server+"/"+e.Notice.Tool+": "+e.Notice.Text)
	}
	if want := []string{"calc/fail: was set aside: the schema has no type", "calc/add: format was left out"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}

// bethington/ghidra-mcp#440: 239 tools are too many for a provider.
func TestGhidraMCP440ManyToolsAreSearchedWhereTheProviderTakesFew(t *testing.T) {
	m := scripted.New(search("share a sensor"), scripted.Say("found")).As(model.Info{Language: true, Window: 1_000_000, MaxTools: 128})
	s := play(t, Options{Model: m, Servers: crowd(t, 239, 10), WindowShares: WindowShares{Tools: 100_000}})
	ask(t, s.Conversation(nil), "share it")
	for _, req := range m.Requests() {
		if len(req.Tools) > 128 {
			t.Errorf("%d tools were sent", len(req.Tools))
		}
	}
	if got := namesOf(m.Requests()[1].Tools); !slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, "share_sensor") }) {
		t.Errorf("the model has %v", got)
	}
}

// anomalyco/opencode#33027, aaif-goose/goose#9700: a server is "connected", and the
// model has none of its tools.
func TestOpencode33027StatusCountsTheContext(t *testing.T) {
	empty := mcp.NewServer("empty", "1")
	srv := mcp.NewServer("new", "1")
	mcp.AddTool(srv, "look", func(context.Context, struct{}) (string, error) { return "", nil })
	s := play(t, Options{Person: &desk{review: func(Review) bool { return false }}, Servers: []Server{
		{Name: "empty", Handler: empty, Trusted: true}, {Name: "new", Handler: srv}, calculator(),
	}}, scripted.Say("hello"))
	ask(t, s.Conversation(nil), "hello")
	var reported []string
	for _, server := range s.eventsOf(func(e Event) bool { return e.Listed != nil })[0].Listed.Servers {
		reported = append(reported, fmt.Sprintf("%s: %s, %d of %d", server.Server, server.State, server.Seen, server.Tools))
	}
	if want := []string{"empty: connected, 0 of 0", "new: unapproved, 0 of 1", "calc: connected, 2 of 2"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}

// github/app#2585, QwenLM/qwen-code#9944: a server vanishes, and a reconnect
// "succeeds" without tools. charmbracelet/crush#3312: a reconnect needs a restart.
func TestGitHubApp2585AReconnectListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Handler: calculator().Handler}
		s := play(t, Options{Servers: []Server{{Name: "calc", Handler: f, Trusted: true}}}, scripted.Say("one"), scripted.Say("two"))
		defer s.Close()
		c := s.Conversation(nil)
		ask(t, c, "one")
		f.down.Store(true)
		mcp.AddTool(f.Handler.(*mcp.Server), "sub", func(context.Context, pair) (string, error) { return "", nil })
		time.Sleep(2 * time.Minute)
		if reported := s.Servers()[0]; reported.State != StateFailed || reported.Seen != 0 {
			t.Errorf("while it is away it stands as %+v", reported)
		}
		f.down.Store(false)
		time.Sleep(2 * time.Minute)
		ask(t, c, "two")
		if got := namesOf(s.last(t).Tools); !slices.Contains(got, "calc__sub") || len(got) != 4 {
			t.Errorf("the model has %v", got)
		}
		if got := s.notices(NoticeServer); len(got) != 2 || !strings.Contains(got[1], "is back, with 3 tools") {
			t.Errorf("reported %q", got)
		}
	})
}

// cline/cline#11698: a general rule silently beats the one for the tool.
func TestCline11698TheRuleForTheToolDecidesAndIsShown(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{
		{Name: "yes to all", Effect: policy.Allow},
		{Name: "not without me", Effect: policy.Ask, Server: "calc", Tool: "add"},
	}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, Options{Policy: rules, Servers: []Server{calculator()}},
		scripted.Reply(scripted.Calling("calc__add", `{"A":1,"B":2}`), scripted.Calling("calc__fail", "")), scripted.Say("done"))
	ask(t, s.Conversation(nil), "go")
	if len(s.desk.cards) != 1 || s.desk.cards[0].Tool != "add" {
		t.Errorf("the person was asked about %+v", s.desk.cards)
	}
	var by []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Consent != nil }) {
		by = append(by, e.Consent.Tool+": "+e.Consent.By+", "+e.Consent.Rule)
	}
	if want := []string{"add: person, not without me", "fail: policy, yes to all"}; !slices.Equal(by, want) {
		t.Errorf("reported %q, want %q", by, want)
	}
}

// mastra-ai/mastra#16766, UsefulSoftwareCo/executor#2074: approvals cannot see
// annotations, and show nothing that a person can read.
func TestMastra16766RulesSeeAnnotationsAndCardsCanBeRead(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Name: "what destroys", Effect: policy.Ask, When: "annotations.destructive"}, {Effect: policy.Allow}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := mcp.NewServer("files", "1")
	erase := func(context.Context, struct{ Path string }) (string, error) { return "gone", nil }
	mcp.AddToolWith(srv, mcp.Tool{Name: "erase", Title: "Erase a file", Description: "Erase it for good.", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)}}, erase)
	mcp.AddToolWith(srv, mcp.Tool{Name: "touch", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}}, erase)
	s := play(t, Options{Policy: rules, Servers: []Server{{Name: "files", Handler: srv, Trusted: true}}},
		scripted.Call("files__touch", `{"Path":"a"}`), scripted.Call("files__erase", `{"Path":"a"}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "go")
	if len(s.desk.cards) != 1 {
		t.Fatalf("the person was asked about %+v", s.desk.cards)
	}
	card := s.desk.cards[0]
	if card.Title != "Erase a file" || card.Description != "Erase it for good." || string(card.Arguments) != `{"Path":"a"}` || !*card.Annotations.DestructiveHint || len(card.Reasons) == 0 || len(card.Always) > 0 || len(card.Never) == 0 {
		t.Errorf("the card is %+v", card)
	}
}

// mark3labs/mcphost#116: answers are cut, and nobody says why.
func TestMCPHost116ACutAnswerIsReportedAndGoesOn(t *testing.T) {
	s := play(t, Options{}, scripted.Respond(&model.Response{Message: model.Message{Parts: []model.Part{{Text: "Once upon"}}}, Stop: model.StopLength, StopDetail: "max_tokens"}), scripted.Say("a time."))
	c := s.Conversation(nil)
	answer := ask(t, c, "tell me a tale")
	if answer.Stop != "length" || answer.Text != "Once upon" || len(s.notices(NoticeStop)) != 1 || !strings.Contains(s.notices(NoticeStop)[0], "max_tokens") {
		t.Errorf("got %+v, reported %q", answer, s.notices(NoticeStop))
	}
	if answer := ask(t, c, "go on"); answer.Text != "a time." || s.last(t).Messages[1].Text() != "Once upon" {
		t.Errorf("got %+v", answer)
	}
}

// jonigl/mcp-client-for-ollama#125, #305: a local model is lost among 118 tools, and
// its small window overflows without a word.
func TestOllmcp125ASmallModelGetsASmallContext(t *testing.T) {
	m := talkative(12, scripted.Say("A summary.")).As(model.Info{Language: true, Window: 8_192})
	s := play(t, Options{Model: m, Servers: append(crowd(t, 118, 6), paragraphs())})
	ask(t, s.Conversation(nil), "look twelve times")
	for i, req := range m.Requests() {
		if got := window.TokensOfRequest(req); got > 8_192 || len(req.Tools) > 2 {
			t.Errorf("request %d has %d tokens and %d tools", i, got, len(req.Tools))
		}
	}
}

// charmbracelet/crush#2622: a conversation that is resumed has a call without a result.
func TestCrush2622ACallWithoutAResultIsMended(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}}, scripted.Call("calc__add", `{"A":1,"B":2}`), scripted.Say("3"), scripted.Say("on we go"))
	c := s.Conversation(nil)
	ask(t, c, "add")
	if answer := ask(t, s.Conversation(nil, c.Entries()[:2]...), "go on"); answer.Text != "on we go" || len(s.notices(NoticeRepaired)) != 1 {
		t.Errorf("got %+v, reported %q", answer, s.notices(NoticeRepaired))
	}
}

// charmbracelet/crush#2214: a model calls the same tool for ever.
func TestCrush2214ALoopEnds(t *testing.T) {
	n := 0
	circle := scripted.Always(scripted.Func(func(*model.Request) (*model.Response, error) {
		n++
		return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("calc__add", fmt.Sprintf(`{"A":%d,"B":1}`, n%3))}}}, nil
	}))
	s := play(t, Options{Model: circle, Servers: []Server{calculator()}})
	if answer := ask(t, s.Conversation(nil), "loop"); answer.Stop != "loop" || answer.Totals.Calls > 3*history.LoopStop || len(s.notices(NoticeLoop)) < 2 {
		t.Errorf("got %+v, reported %q", answer, s.notices(NoticeLoop))
	}
}

// mark3labs/kit#31: one tool that fails ends the run.
func TestKit31AFailedCallIsNotTheEnd(t *testing.T) {
	srv := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddToolWith(srv, mcp.Tool{Name: "crash", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { panic("oh no") })
	mcp.AddToolWith(srv, mcp.Tool{Name: "refuse", Annotations: readOnly}, func(context.Context, struct{}) (string, error) {
		return "", mcp.Errorf(mcp.CodeInternalError, "a protocol error")
	})
	mcp.AddToolWith(srv, mcp.Tool{Name: "fail", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "", errors.New("a tool error") })
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
		scripted.Reply(scripted.Calling("s__crash", ""), scripted.Calling("s__refuse", ""), scripted.Calling("s__fail", "")), scripted.Say("all three failed"))
	if answer := ask(t, s.Conversation(nil), "go"); answer.Text != "all three failed" {
		t.Errorf("got %+v", answer)
	}
	for i, want := range []string{"s__crash", "a protocol error", "a tool error"} {
		if got := s.results(t)[i]; !got.IsError || !strings.Contains(got.Text(), want) {
			t.Errorf("the model reads %q, want %q", got.Text(), want)
		}
	}
}
