package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// A nameless model gives its calls no IDs.
type nameless struct{ *scripted.Model }

func (m nameless) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	response, err := m.Model.Generate(ctx, req, emit)
	if response != nil {
		response.Message.Parts = slices.Clone(response.Message.Parts)
		for i := range response.Message.Parts {
			if c := response.Message.Parts[i].Call; c != nil {
				call := *c
				call.ID = ""
				response.Message.Parts[i].Call = &call
			}
		}
	}
	return response, err
}

func TestEventsNameCallsAlike(t *testing.T) {
	m := nameless{scripted.New(scripted.Call("calc__add", `{"A":1,"B":2}`), scripted.Call("calc__add", `{"A":3,"B":4}`), scripted.Say("done"))}
	s := play(t, Options{Model: m, Servers: []Server{calculator()}})
	ask(t, s.Conversation(nil), "add")
	ids := map[string][]string{}
	for _, e := range s.eventsOf(func(e Event) bool { return true }) {
		switch {
		case e.Decided != nil:
			for _, c := range e.Decided.Message.Calls() {
				ids["decided"] = append(ids["decided"], c.ID)
			}
		case e.Called != nil:
			ids["called"] = append(ids["called"], e.Called.CallID)
		case e.Returned != nil:
			ids["returned"] = append(ids["returned"], e.Returned.CallID)
		}
	}
	if len(ids["decided"]) != 2 || ids["decided"][0] == ids["decided"][1] || !slices.Equal(ids["decided"], ids["called"]) || !slices.Equal(ids["called"], ids["returned"]) {
		t.Errorf("calls are named %v", ids)
	}
}

func TestEventsOfAHostWithoutServersHaveListsAndUnits(t *testing.T) {
	s := play(t, Options{}, scripted.Say("hello"))
	ask(t, s.Conversation(nil), "hello")
	var all strings.Builder
	for _, e := range s.eventsOf(func(e Event) bool { return true }) {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(line)
	}
	for _, want := range []string{`"servers":[]`, `"durationNs":`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %s in %s", want, all.String())
		}
	}
}

// What a server used of the model is paid for, also where nothing came of it.
func TestAServersFailedUseOfTheModelIsCounted(t *testing.T) {
	asking := mcp.NewServer("asking", "1.0")
	mcp.AddToolWith(asking, mcp.Tool{Name: "ask", Description: "Ask.", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("hello")}}}})
		return "", err
	})
	m := &breaking{Model: scripted.New(scripted.Call("asking__ask", `{}`), scripted.Say("It failed."))}
	s := play(t, Options{Model: m, Servers: []Server{{Name: "asking", Handler: asking, Trusted: true}}})
	answer := ask(t, s.Conversation(nil), "ask")
	if got := answer.Totals; m.broken != 1 || got.Requests != 3 || got.Usage.Input < 1_000 {
		t.Errorf("%d requests broke, counted %+v", m.broken, got)
	}
}

// A breaking model breaks off where a server asks it, after a thousand tokens.
type breaking struct {
	*scripted.Model
	broken int
}

func (m *breaking) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if len(req.Tools) == 0 {
		m.broken++
		return &model.Response{Usage: model.Usage{Input: 1_000}}, errors.New("the line is dead")
	}
	return m.Model.Generate(ctx, req, emit)
}

// The pins are not the host's alone: what another part of the program approves counts
// with the next question.
func TestApprovalsOfOtherProcessesCount(t *testing.T) {
	pins := new(guard.Pins)
	server := calculator()
	server.Trusted = false
	s := play(t, Options{Servers: []Server{server}, Pins: pins, Person: nobody{}}, scripted.Say("one"), scripted.Say("two"))
	c := s.Conversation(nil)
	ask(t, c, "first")
	if got := s.Servers()[0]; got.State != StateUnapproved || got.Seen != 0 || s.Tools()[0].State != ToolUnapproved {
		t.Errorf("before: %+v", got)
	}
	if err := pins.Approve(s.servers[0].definitions()...); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "second")
	if got := s.Servers()[0]; got.State != StateConnected || got.Seen != 2 || s.Tools()[0].State != ToolSent {
		t.Errorf("after: %+v", got)
	}
}

func TestARunThatIsInterruptedSaysByWhat(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupted := errors.New("the lights went out")
	slow := mcp.NewServer("slow", "1.0")
	mcp.AddToolWith(slow, mcp.Tool{Name: "wait", Description: "Wait.", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		interrupt(interrupted)
		<-ctx.Done()
		return "", ctx.Err()
	})
	s := play(t, Options{Servers: []Server{{Name: "slow", Handler: slow, Trusted: true}}}, scripted.Call("slow__wait", `{}`))
	answer, err := s.Conversation(nil).Ask(ctx, Question{Text: "wait"})
	if !errors.Is(err, interrupted) || answer.Stop != stopCancelled {
		t.Errorf("%+v, %v", answer, err)
	}
	if reported := s.eventsOf(func(e Event) bool { return e.Answered != nil }); len(reported) != 1 || reported[0].Answered.Error != interrupted.Error() {
		t.Errorf("reported %+v", reported)
	}
}

func TestAServerIsNamedOnceWhereItDoesNotAnswer(t *testing.T) {
	fails := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{}, errors.New(`server "far" is not connected: server "far": start "far": not found in PATH`)
	})
	s := play(t, Options{Servers: []Server{{Name: "far", Handler: fails}}}, scripted.Say("hello"))
	ask(t, s.Conversation(nil), "hello")
	want := `start "far": not found in PATH`
	if got := s.notices(NoticeServer); len(got) != 1 || got[0] != `server "far" does not answer: `+want {
		t.Errorf("reported %q", got)
	}
	if got := s.Servers()[0]; got.Error != want || got.State != StateFailed {
		t.Errorf("%+v", got)
	}
}

// A variable that is not set is no fault of the server's, which was never started.
func TestAServerThatDidNotStartIsNotReportedAsSilent(t *testing.T) {
	why := errors.New("variable NOT_SET_VAR is not set; export it")
	s := play(t, behind(t, Server{Name: "unset"}, func(context.Context) (*mcp.Client, error) { return nil, why }), scripted.Say("hello"))
	ask(t, s.Conversation(nil), "hello")
	if got := s.notices(NoticeServer); len(got) != 1 || got[0] != `server "unset" is not connected: variable NOT_SET_VAR is not set; export it` {
		t.Errorf("reported %q", got)
	}
}

func TestACallThatIsNotMadeIsReportedOnce(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}}, scripted.Reply(
		scripted.Calling("calc__subtract", `{}`), scripted.Calling("calc__add", `{"A":"two"}`), scripted.Calling("calc__add", `{"A":2,"B":40}`)), scripted.Say("42"))
	ask(t, s.Conversation(nil), "add")
	var got []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Called != nil || e.Returned != nil }) {
		switch r := e.Returned; {
		case r == nil:
			got = append(got, "called "+e.Called.Tool)
		case r.IsError:
			got = append(got, fmt.Sprintf("%s/%s: %.25s", r.Server, r.Tool, r.Text))
		default:
			got = append(got, r.Text)
		}
	}
	want := []string{`/calc__subtract: There is no tool "calc__s`, "calc/add: The arguments do not fit ", "called add", "42"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
