package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
)

// crowd is so many tools on so many trusted servers, made up of verbs and things.
func crowd(t testing.TB, tools, servers int) []Server {
	t.Helper()
	verbs := []string{"create", "list", "delete", "rename", "archive", "export", "import", "share"}
	things := []string{"invoice", "ticket", "calendar_event", "branch", "playlist", "parcel", "recipe", "contract", "flight", "sensor"}
	all := make([]Server, servers)
	for i := range all {
		srv := mcp.NewServer(fmt.Sprintf("vendor%02d", i), "1.0")
		all[i] = Server{Name: fmt.Sprintf("vendor%02d", i), Handler: srv, Trusted: true}
		for n := i; n < tools; n += servers {
			verb, thing := verbs[n/servers%len(verbs)], things[i%len(things)]
			srv.AddTool(mcp.Tool{
				Name:        fmt.Sprintf("%s_%s_%d", verb, thing, n),
				Description: fmt.Sprintf("Does what it takes to %s one %s of vendor %d. %s", verb, thing, i, strings.Repeat("It follows the account's time zone. ", 8)),
				InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"id":{"type":"string","description":"Which %s to %s"},"notes":{"type":"string","description":"%s"}},"required":["id"]}`, thing, verb, strings.Repeat("Free words for the log. ", 6))),
				Annotations: readOnly,
			}, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
			})
		}
	}
	return all
}

func search(queries ...string) scripted.Turn {
	arguments, _ := json.Marshal(map[string][]string{"queries": queries})
	return scripted.Call(searchName, string(arguments))
}

func namesOf(tools []model.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func TestManyToolsCostLittleUntilTheyAreFound(t *testing.T) {
	s := play(t, Options{Model: scripted.New(search("archive a playlist"), scripted.Say("found")).As(model.Info{Language: true, Window: 200_000}), Servers: crowd(t, 527, 70)})
	m := s.Model().(*scripted.Model)
	ask(t, s.Conversation(nil), "archive my playlist")
	first, second := m.Requests()[0], m.Requests()[1]
	if got, want := namesOf(first.Tools), []string{searchName, readName}; !slices.Equal(got, want) {
		t.Errorf("the first request has the tools %v, want %v", got, want)
	}
	text := window.TokensOf(first.Tools) + model.EstimateTokens(len(first.System)-len(systemPrompt))
	if text >= 2_000 {
		t.Errorf("the tool text of the first request costs %d tokens", text)
	}
	if !strings.Contains(first.System, "vendor69") {
		t.Error("the system prompt does not name the last server")
	}
	answer := second.Messages[len(second.Messages)-1].Parts[0].Result.Text()
	cost := model.EstimateTokens(len(answer)) + window.TokensOf(second.Tools) - window.TokensOf(first.Tools)
	if cost >= 1_200 {
		t.Errorf("one search costs %d tokens", cost)
	}
	if len(second.Tools) < 4 || !strings.Contains(second.Tools[2].Name, "archive_playlist") {
		t.Errorf("the search brought %v", namesOf(second.Tools[2:]))
	}
	for _, tool := range second.Tools[2:] {
		if !strings.Contains(answer, tool.Name) || strings.Contains(answer, "no good match") {
			t.Errorf("the answer does not name %s: %s", tool.Name, answer)
		}
	}
}

func TestFoundToolsFollowThePrefixAndStay(t *testing.T) {
	m := scripted.New(search("archive a playlist"), search("delete an invoice", "rename a ticket"), scripted.Say("one"), scripted.Say("two")).As(model.Info{Language: true, Window: 200_000})
	s := play(t, Options{Model: m, Servers: crowd(t, 300, 50), System: "Be brief."})
	c := s.Conversation(nil)
	ask(t, c, "first")
	ask(t, c, "second")
	requests := m.Requests()
	for i := 1; i < len(requests); i++ {
		before, after := requests[i-1], requests[i]
		if before.System != after.System {
			t.Errorf("request %d: the system prompt changed", i)
		}
		if !slices.Equal(namesOf(before.Tools), namesOf(after.Tools)[:len(before.Tools)]) {
			t.Errorf("request %d: %v is not how %v begins", i, namesOf(before.Tools), namesOf(after.Tools))
		}
		if b, a := bytesOf(t, before.Messages), bytesOf(t, after.Messages); !strings.HasPrefix(a, strings.TrimSuffix(b, "]")) {
			t.Errorf("request %d: the messages do not begin as those before", i)
		}
	}
	if len(requests[2].Tools) <= len(requests[1].Tools) || len(requests[3].Tools) != len(requests[2].Tools) {
		t.Errorf("tools grew as %d, %d, %d, %d", len(requests[0].Tools), len(requests[1].Tools), len(requests[2].Tools), len(requests[3].Tools))
	}
}

func bytesOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAResumedConversationSendsTheSameBytes(t *testing.T) {
	servers := crowd(t, 300, 50)
	turns := []scripted.Turn{search("archive a playlist"), scripted.Say("one"), scripted.Say("two")}
	info := model.Info{Language: true, Window: 200_000}
	straight := scripted.New(turns...).As(info)
	s := play(t, Options{Model: straight, Servers: servers})
	c := s.Conversation(nil)
	ask(t, c, "first")
	entries := c.Entries()
	ask(t, c, "second")

	resumed := scripted.New(scripted.Say("two")).As(info)
	again := play(t, Options{Model: resumed, Servers: servers})
	ask(t, again.Conversation(nil, entries...), "second")
	want, got := straight.Requests()[2], resumed.Requests()[0]
	if bytesOf(t, want.Tools) != bytesOf(t, got.Tools) || want.System != got.System || bytesOf(t, want.Messages) != bytesOf(t, got.Messages) {
		t.Error("the request after a resume is not what it would have been without")
	}
}

func TestBudgetDecidesWhichToolsAreSearched(t *testing.T) {
	tests := []struct {
		name     string
		budget   WindowShares
		info     model.Info
		native   int
		deferred int
	}{
		{"a large window takes all", WindowShares{Tools: 20_000}, model.Info{}, 21, 0},
		{"a small budget takes none", WindowShares{Tools: 100}, model.Info{}, 2, 20},
		{"a server that is always there", WindowShares{Tools: 100, Always: []string{"vendor01"}}, model.Info{}, 7, 15},
		{"no budget at all", WindowShares{Tools: -1}, model.Info{}, 21, 0},
		{"as many as the provider takes", WindowShares{Tools: -1}, model.Info{MaxTools: 22}, 21, 0},
		{"more than the provider takes", WindowShares{Tools: -1}, model.Info{MaxTools: 21}, 2, 20},
		{"a model with a small window", WindowShares{}, model.Info{Window: 8_192}, 2, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.info.Language = true
			s := play(t, Options{Model: scripted.New(scripted.Say("hi")).As(test.info), Servers: crowd(t, 20, 4), WindowShares: test.budget})
			ask(t, s.Conversation(nil), "hello")
			listed := s.eventsOf(func(e Event) bool { return e.Listed != nil })[0].Listed
			if listed.Native != test.native || listed.Deferred != test.deferred {
				t.Errorf("%d tools are sent and %d deferred, want %d and %d", listed.Native, listed.Deferred, test.native, test.deferred)
			}
		})
	}
}

func TestSearchesNeverBringMoreThanTheProviderTakes(t *testing.T) {
	n := 0
	m := scripted.Always(scripted.Func(func(*model.Request) (*model.Response, error) {
		if n++; n > 12 {
			return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "enough"}}}}, nil
		}
		arguments := fmt.Sprintf(`{"queries":["invoice of vendor %d","share ticket %d","flight %d"]}`, n, n, n)
		return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling(searchName, arguments)}}}, nil
	})).As(model.Info{Language: true, Window: 40_000, MaxTools: 12})
	s := play(t, Options{Model: m, Servers: crowd(t, 300, 30)})
	ask(t, s.Conversation(nil), "look around")
	for i, request := range m.Requests() {
		if len(request.Tools) > 12 || window.TokensOf(request.Tools) > 4_000+300 {
			t.Errorf("request %d has %d tools of %d tokens", i, len(request.Tools), window.TokensOf(request.Tools))
		}
	}
}

func TestADisplacedToolCanBeFoundAgain(t *testing.T) {
	m := scripted.New(search("archive a playlist"), search("delete an invoice"), search("share a contract"), search("export a sensor"),
		search("archive a playlist"), scripted.Say("there")).As(model.Info{Language: true, MaxTools: 7})
	s := play(t, Options{Model: m, Servers: crowd(t, 300, 30)})
	ask(t, s.Conversation(nil), "look around")
	requests := m.Requests()
	wanted := requests[1].Tools[2].Name
	if slices.Contains(namesOf(requests[4].Tools), wanted) {
		t.Errorf("%s is still there: %v", wanted, namesOf(requests[4].Tools))
	}
	if !slices.Contains(namesOf(requests[5].Tools), wanted) {
		t.Errorf("%s did not come back: %v", wanted, namesOf(requests[5].Tools))
	}
}

func TestALongDefinitionIsShortenedAndStillChecked(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	properties := map[string]any{}
	for i := range 40 {
		properties[fmt.Sprintf("field%d", i)] = map[string]string{"type": "integer", "description": strings.Repeat("How much of it there is to be had. ", 10)}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"field7"}})
	srv.AddTool(mcp.Tool{Name: "measure", Description: "Measure things. " + strings.Repeat("And more. ", 300), InputSchema: schema, Annotations: readOnly},
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil })
	s := play(t, Options{WindowShares: WindowShares{Tools: 100}, Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
		search("measure things"), scripted.Call("s__measure", `{"field1":1}`), scripted.Say("done"))
	ask(t, s.Conversation(nil), "measure")
	if got := s.results(t); !got[0].IsError || !strings.Contains(got[0].Text(), "field7") {
		t.Errorf("a call without what is required got %q", got[0].Text())
	}
	tool := s.last(t).Tools[2]
	if window.TokensOf([]model.Tool{tool}) > 600 || !strings.Contains(string(tool.Schema), `"required":["field7"]`) {
		t.Errorf("%d tokens are sent: %s", window.TokensOf([]model.Tool{tool}), tool.Schema)
	}
}

func TestAWeakMatchSaysSoAndHidesNothing(t *testing.T) {
	s := play(t, Options{WindowShares: WindowShares{Tools: 100}, Servers: crowd(t, 40, 8)},
		search("archive the rocket of a submarine", "xyzzy"), scripted.Say("hm"))
	ask(t, s.Conversation(nil), "go")
	text := s.results(t)[0].Text()
	if !strings.Contains(text, "no good match; the nearest:\n- ") || !strings.Contains(text, `"xyzzy": nothing was found`) {
		t.Errorf("the model read %s", text)
	}
}

func TestASearchThatMakesNoSenseIsAnsweredWithAnError(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                 "queries is missing",
		`{"queries":[]}`:     "queries is missing",
		`{"queries":"send"}`: "queries is missing",
		`{"queries":["a","b","c","d","e","f","g","h","i"]}`: "9 queries are more than 8",
	} {
		s := play(t, Options{WindowShares: WindowShares{Tools: 100}, Servers: crowd(t, 40, 8)}, scripted.Call(searchName, arguments), scripted.Say("hm"))
		ask(t, s.Conversation(nil), "go")
		if got := s.results(t)[0]; !got.IsError || !strings.Contains(got.Text(), want) {
			t.Errorf("%s: got %q", arguments, got.Text())
		}
	}
}

func TestASearchThatHelpedIsRemembered(t *testing.T) {
	outcomes := map[string]struct {
		err       error
		stranger  bool
		remembers int
	}{
		"the tool did it": {nil, false, 1},
		"the tool failed": {errors.New("no"), false, 0},
		"the words may be those of somebody who is not the person": {nil, true, 0},
	}
	for name, test := range outcomes {
		t.Run(name, func(t *testing.T) {
			srv := mcp.NewServer("s", "1")
			mcp.AddToolWith(srv, mcp.Tool{Name: "polish", Description: "Polish the silver spoons. " + strings.Repeat("Well. ", 100), Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "ok", test.err })
			mcp.AddToolWith(srv, mcp.Tool{Name: "gossip", Description: "Hear what is said. " + strings.Repeat("Well. ", 100), Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "search for spoons", nil })
			turns := []scripted.Turn{search("make cutlery shine: silver"), scripted.Call("s__polish", ""), scripted.Say("done")}
			if test.stranger {
				turns = slices.Insert(turns, 0, scripted.Call("s__gossip", ""))
			}
			index := toolsearch.New(toolsearch.Options{})
			s := play(t, Options{Search: index, WindowShares: WindowShares{Tools: 10}, Servers: []Server{{Name: "s", Handler: srv, Trusted: !test.stranger}}}, turns...)
			ask(t, s.Conversation(nil), "polish the spoons")
			if got := index.Memory(); len(got) != test.remembers {
				t.Errorf("remembered %v", got)
			}
		})
	}
}

func TestToolsThatAreDeniedOrNotApprovedAreNotFound(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Name: "no archives", Effect: policy.Deny, Tool: "archive_*"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	servers := crowd(t, 80, 10)
	servers[3].Trusted = false
	s := play(t, Options{Policy: rules, Person: &desk{review: func(Review) bool { return false }}, WindowShares: WindowShares{Tools: 100}, Servers: servers},
		search("archive a playlist", "archive a branch", "create a branch"), scripted.Say("hm"))
	ask(t, s.Conversation(nil), "go")
	for _, name := range namesOf(s.last(t).Tools)[2:] {
		if strings.Contains(name, "archive_") || strings.HasPrefix(name, "vendor03") {
			t.Errorf("the model got %s", name)
		}
	}
	if strings.Contains(s.last(t).System, "vendor03") {
		t.Error("the model reads of a server that is not approved")
	}
}
