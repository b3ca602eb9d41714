package host

import (
	"context"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/model"
)

func isGenerated(e Event) bool { return e.Generated != nil }

// A tapped model shows its exchanges, and fails where its script says so.
type tapped struct {
	*scripted.Model
	fails func(*model.Request) bool
}

func (m tapped) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if req.Tap != nil {
		req.Tap(model.Exchange{Method: "POST", URL: "https://model.example", Status: 200})
	}
	if m.fails != nil && m.fails(req) {
		return nil, errors.New("the model is gone")
	}
	return m.Model.Generate(ctx, req, emit)
}

func TestASummaryIsReported(t *testing.T) {
	m := talkative(1, scripted.Say("It was short."))
	s := play(t, Options{Model: tapped{Model: m}, Trace: true, Servers: []Server{paragraphs()}})
	c := s.Conversation(nil)
	ask(t, c, "look")
	ask(t, c, "and then?")
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	reported := s.eventsOf(isGenerated)
	if len(reported) != 1 || reported[0].Run != 0 {
		t.Fatalf("reported %+v", reported)
	}
	g := reported[0].Generated
	if g.For != ForSummary || g.Decided == nil || g.Decided.Message.Text() != "It was short." || g.Decided.Usage.Input == 0 ||
		g.Asked.Messages != 1 || g.Asked.Request == nil || len(g.Exchanges) != 1 {
		t.Errorf("reported %+v", g)
	}
}

// The person's yes comes before what it costs, and both before the call's result.
func TestSamplingRequestsAreReported(t *testing.T) {
	m := tapped{Model: scripted.New(scripted.Call("poet__write", ""), scripted.Say("a verse"), scripted.Say("done"))}
	s := play(t, Options{Model: m, Trace: true, Servers: []Server{{Name: "poet", Handler: poet(plainSample), Trusted: true}}})
	ask(t, s.Conversation(nil), "write")
	reported := s.eventsOf(func(e Event) bool { return isGenerated(e) || e.ServerRequest != nil || e.Returned != nil })
	if len(reported) != 3 || reported[0].ServerRequest == nil || reported[0].ServerRequest.Outcome != "accept" || reported[1].Generated == nil || reported[2].Returned == nil {
		t.Fatalf("reported %+v", reported)
	}
	g := reported[1].Generated
	if g.For != ForSampling || g.Server != "poet" || g.CallID != "call_1" || g.Decided.Message.Text() != "a verse" || len(g.Exchanges) != 1 || reported[1].Run != 1 {
		t.Errorf("reported %+v", g)
	}
}

func TestAYesIsReportedWhereTheModelFailsAfterIt(t *testing.T) {
	m := tapped{Model: scripted.New(scripted.Call("poet__write", ""), scripted.Say("done")), fails: func(r *model.Request) bool { return len(r.Tools) == 0 }}
	s := play(t, Options{Model: m, Servers: []Server{{Name: "poet", Handler: poet(plainSample), Trusted: true}}})
	ask(t, s.Conversation(nil), "write")
	reported := s.eventsOf(func(e Event) bool { return isGenerated(e) || e.ServerRequest != nil })
	if len(reported) != 2 || reported[0].ServerRequest.Outcome != "accept" || reported[1].Generated.Error != "the model is gone" || reported[1].Generated.Decided != nil {
		t.Errorf("reported %+v", reported)
	}
}

// A request that fails has been on the wire all the same.
func TestARequestWithoutAnAnswerIsReported(t *testing.T) {
	m := tapped{Model: scripted.New(), fails: func(*model.Request) bool { return true }}
	s := play(t, Options{Model: m, Trace: true})
	if _, err := s.Conversation(nil).Ask(t.Context(), Question{Text: "hello"}); err == nil {
		t.Fatal("there is an answer")
	}
	reported := s.eventsOf(isGenerated)
	if len(reported) != 1 || reported[0].Generated.For != ForStep || len(reported[0].Generated.Exchanges) != 1 || reported[0].Generated.Error == "" {
		t.Errorf("reported %+v", reported)
	}
}

func TestReviewsAreReported(t *testing.T) {
	for _, agreed := range []bool{true, false} {
		server := calculator()
		server.Trusted = false
		s := play(t, Options{Person: &desk{review: func(Review) bool { return agreed }}, Servers: []Server{server}}, scripted.Say("done"))
		ask(t, s.Conversation(nil), "hello")
		reported := s.eventsOf(func(e Event) bool { return e.Reviewed != nil })
		if len(reported) != 1 || *reported[0].Reviewed != (Reviewed{Server: "calc", First: true, Definitions: 3, Approved: agreed}) {
			t.Errorf("reported %+v", reported)
		}
	}
	server := calculator()
	server.Trusted = false
	s := play(t, Options{Person: nobody{}, Servers: []Server{server}}, scripted.Say("done"))
	ask(t, s.Conversation(nil), "hello")
	if reported := s.eventsOf(func(e Event) bool { return e.Reviewed != nil }); len(reported) != 0 || len(s.notices(NoticeServer)) != 1 {
		t.Errorf("nobody was asked, and reported is %+v", reported)
	}
}
