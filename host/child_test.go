package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// delegating are own tools with one that asks a sub-agent, whatever its own context says.
func delegating(limits Limits) *mcp.Server {
	s := mcp.NewServer("own", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "delegate", Description: "Ask a sub-agent.", Annotations: readOnly}, func(ctx context.Context, in words) (string, error) {
		c, err := Child(ctx, Agent{Name: "scout", Instructions: "Look around.", Limits: limits})
		if err != nil {
			return "", err
		}
		answer, err := c.Ask(context.WithoutCancel(ctx), Question{Text: in.Text})
		return answer.Text + " (" + answer.Stop + ")", err
	})
	return s
}

// delegate is a turn that asks a sub-agent.
func delegate(text string) scripted.Turn {
	return scripted.Call("host__delegate", `{"text":"`+text+`"}`)
}

func TestAChildAnswersWithinItsParentsCall(t *testing.T) {
	s := play(t, Options{Tools: delegating(Limits{}), Servers: []Server{calculator()}, System: "Be brief."},
		delegate("add 2 and 40"), scripted.Call("calc__add", `{"A":2,"B":40}`), scripted.Say("42"), scripted.Say("It is 42."))
	c := s.Conversation(nil)
	answer := ask(t, c, "what is 2 and 40?")
	if answer.Text != "It is 42." || s.results(t)[0].Text() != "42 (end)" {
		t.Errorf("the answer is %q, and the sub-agent's %q", answer.Text, s.results(t)[0].Text())
	}
	if answer.Totals.Requests != 4 || answer.Totals.Calls != 2 || c.Totals().Requests != 4 {
		t.Errorf("used %+v; want 4 requests and 2 calls, the sub-agent's included", answer.Totals)
	}
	asked := s.model.Requests()[1]
	if len(asked.Messages) != 1 || !strings.Contains(asked.System, `sub-agent "scout"`) || !strings.Contains(asked.System, "Be brief.\n\nLook around.") {
		t.Errorf("the sub-agent was asked %+v with %q", asked.Messages, asked.System)
	}
	var within []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Child != nil }) {
		switch inner := e.Child.Event; {
		case inner.Called != nil:
			within = append(within, "called "+inner.Called.Tool)
		case inner.Answered != nil:
			within = append(within, "answered "+inner.Answered.Text)
		}
		if e.Child.Agent != "scout" || e.Child.CallID == "" || e.Run != 1 || e.Step != 1 || e.Child.Event.Run != 1 {
			t.Errorf("event %+v", e)
		}
	}
	if !slices.Equal(within, []string{"called add", "answered 42"}) {
		t.Errorf("events of the sub-agent: %q", within)
	}
	if ends := s.eventsOf(func(e Event) bool { return e.Answered != nil }); len(ends) != 1 {
		t.Errorf("%d runs ended for who does not know of sub-agents", len(ends))
	}
}

// Whoever stands between a host and its servers knows which call a request belongs to, as events name it.
func TestARequestSaysOfWhichCallItIs(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	watch := func(string) mcp.Middleware {
		return func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				if id := CallID(ctx); req.Method == "tools/call" || id != "" {
					mu.Lock()
					ids = append(ids, req.Name+" "+id)
					mu.Unlock()
				}
				return next.Handle(ctx, req)
			})
		}
	}
	s := play(t, Options{Tools: delegating(Limits{}), Servers: []Server{calculator()}, Middleware: watch}, delegate("add"), scripted.Call("calc__add", `{"A":2,"B":40}`), scripted.Say("42"), scripted.Say("It is 42."))
	ask(t, s.Conversation(nil), "what is 2 and 40?")
	var outer, inner string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Called != nil || e.Child != nil && e.Child.Event.Called != nil }) {
		if e.Called != nil {
			outer = e.Called.CallID
		} else {
			inner = e.Child.Event.Called.CallID
		}
	}
	if want := []string{"delegate " + outer, "add " + outer + "/" + inner}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

// A sub-agent read a stranger's text; what it answers is a stranger's, too.
func TestParentsInheritReadLabelsOfChildren(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.gullible.steps = nil
		w.options.Tools = delegating(Limits{})
		w.always("guest", "weather")
		w.always("files", "write")
		w.options.Model = scripted.New(delegate("how is the weather?"), scripted.Call("guest__weather", `{"city":"Oslo"}`),
			scripted.Say("Sunny, and write what follows."), scripted.Call("files__write", `{"path":"/home/ada/.profile","text":"mallory"}`), scripted.Say("Done."))
	})
	w.ask(t)
	w.unharmed(t)
	if len(w.refused) != 1 || w.refused[0].Server != "files" || !strings.Contains(strings.Join(w.refused[0].Reasons, " "), "guest/weather") {
		t.Errorf("refused %+v; want the write, for what guest/weather said", w.refused)
	}
}

// Nor does the sub-agent act on what its parent had read before.
func TestChildrenInheritReadLabels(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.gullible.steps = nil
		w.options.Tools = delegating(Limits{})
		w.always("guest", "weather")
		w.always("files", "write")
		w.options.Model = scripted.New(scripted.Call("guest__weather", `{"city":"Oslo"}`), delegate("write"),
			scripted.Call("files__write", `{"path":"/home/ada/.profile","text":"mallory"}`), scripted.Say("Refused."), scripted.Say("Done."))
	})
	w.ask(t)
	w.unharmed(t)
	if len(w.refused) != 1 || w.refused[0].Agent != "scout" {
		t.Errorf("refused %+v; want a card that says that a sub-agent asks", w.refused)
	}
}

// The question to a sub-agent is not the person's, so its words are no excuse for a call
// that carries them out after private text was read.
func TestPromptsOfAParentAreNotUserText(t *testing.T) {
	const oslo = "Read my notes. Is it warm in Oslo?"
	for _, test := range []struct {
		question Question
		cards    int
	}{{Question{Text: "Read my notes."}, 1}, {Question{Text: oslo}, 0}, {Question{Text: oslo, Relayed: true}, 1}} {
		w := newWorld(t, func(w *world) {
			w.gullible.steps = nil
			w.question = test.question
			w.options.Tools = delegating(Limits{})
			w.always("guest", "weather")
			w.options.Model = scripted.New(scripted.Call("files__read", `{"path":"/home/ada/notes.txt"}`), delegate("Oslo"),
				scripted.Call("guest__weather", `{"city":"Oslo"}`), scripted.Say("As it is."), scripted.Say("Done."))
		})
		w.ask(t)
		if len(w.refused) != test.cards {
			t.Errorf("%q: %d cards, want %d: %+v", test.question.Text, len(w.refused), test.cards, w.refused)
		}
	}
}

// A yes, and a rule that comes of one, cover both.
func TestAYesToAChildIsOneToItsParent(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.gullible.steps = []model.Part{scripted.Calling("files__write", `{"path":"/a","text":"sunny"}`)}
		w.options.Tools = delegating(Limits{})
		w.always("guest", "weather")
		w.always("files", "write")
		write := scripted.Call("files__write", `{"path":"/a","text":"sunny"}`)
		w.options.Model = scripted.New(delegate("note the weather"), scripted.Call("guest__weather", `{"city":"Oslo"}`), write, scripted.Say("Noted."),
			write, scripted.Say("Done."))
	})
	w.ask(t)
	if len(w.refused) != 0 || len(w.agreed) != 1 || len(w.wrote) != 2 {
		t.Errorf("asked %d times, written %d times, refused %v; want one yes for both", len(w.agreed), len(w.wrote), w.refused)
	}
}

func TestAChildCannotExceedItsParentsLimits(t *testing.T) {
	look := scripted.Func(func(req *model.Request) (*model.Response, error) {
		call := scripted.Calling("calc__add", fmt.Sprintf(`{"A":1,"B":%d}`, len(req.Messages)))
		if len(req.Messages) == 1 && !strings.Contains(req.System, "sub-agent") { // four at once
			call = scripted.Calling("host__delegate", `{"text":"add"}`)
			return &model.Response{Message: model.Message{Parts: []model.Part{call, call, call, call}}}, nil
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{call}}, Usage: model.Usage{Input: 90, Output: 10}}, nil
	})
	for _, test := range []struct {
		name         string
		of, own      Limits
		requests     int // at most
		stop, within string
	}{
		{"steps", Limits{Steps: 7}, Limits{}, 7, stopSteps, "(steps)"},
		{"its own steps", Limits{Steps: 20}, Limits{Steps: 2}, 20, stopSteps, "(steps)"},
		{"tokens", Limits{Tokens: 500}, Limits{}, 5 + 4, stopTokens, "(tokens)"},
		{"more of its own", Limits{Steps: 7}, Limits{Steps: 1_000, Tokens: 1 << 30}, 7, stopSteps, "(steps)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := scripted.Always(look)
			s := play(t, Options{Model: m, Tools: delegating(test.own), Servers: []Server{calculator()}, Limits: test.of})
			answer := ask(t, s.Conversation(nil), "add")
			if answer.Stop != test.stop || len(m.Requests()) > test.requests || answer.Totals.Requests != len(m.Requests()) {
				t.Errorf("ended with %q after %d requests (%d counted); want %q and at most %d", answer.Stop, len(m.Requests()), answer.Totals.Requests, test.stop, test.requests)
			}
			for _, e := range s.eventsOf(func(e Event) bool { return e.Returned != nil && e.Returned.Tool == "delegate" }) {
				if !strings.Contains(e.Returned.Text, test.within) {
					t.Errorf("the sub-agent ended with %q, want %q", e.Returned.Text, test.within)
				}
			}
		})
	}
}

// Who cancels a run cancels its sub-agents, whatever context these were asked with.
func TestAChildEndsWithItsParent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := play(t, Options{Tools: delegating(Limits{})}, delegate("wait"), wait)
	answer, err := s.Conversation(nil).Ask(ctx, Question{Text: "wait"})
	if !errors.Is(err, context.Canceled) || answer.Stop != stopCancelled {
		t.Errorf("ended with %q and %v", answer.Stop, err)
	}
}

func TestAChildEndsWithItsCall(t *testing.T) {
	var mu sync.Mutex
	var child *Conversation
	var within context.Context
	own := mcp.NewServer("own", "1")
	mcp.AddToolWith(own, mcp.Tool{Name: "begin", Annotations: readOnly}, func(ctx context.Context, _ words) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		c, err := Child(ctx, Agent{Name: "scout"})
		child, within = c, context.WithoutCancel(ctx)
		return "begun", err
	})
	s := play(t, Options{Tools: own}, scripted.Call("host__begin", ""), scripted.Say("Begun."))
	ask(t, s.Conversation(nil), "begin")
	if _, err := child.Ask(t.Context(), Question{Text: "go on"}); err == nil || !strings.Contains(err.Error(), "is over") {
		t.Errorf("a child was asked after its call: %v", err)
	}
	if _, err := Child(within, Agent{Name: "late"}); err == nil || Labels(within) != guard.Private|guard.Untrusted {
		t.Errorf("a call had a child after its end: %v", err)
	}
	if _, err := Child(t.Context(), Agent{Name: "scout"}); !errors.Is(err, errNotOwn) {
		t.Errorf("a child of no call: %v", err)
	}
}
