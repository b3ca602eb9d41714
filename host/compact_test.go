package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// isSummary reports whether a request is for a summary.
func isSummary(req *model.Request) bool { return req.System == compactPrompt }

// talkative is a model with a small window that calls until it was asked so often,
// and answers requests for a summary with summarize.
func talkative(calls int, summarize scripted.Turn) *scripted.Model {
	n := 0
	return scripted.Always(func(ctx context.Context, req *model.Request) (*model.Response, error) {
		if isSummary(req) {
			return summarize(ctx, req)
		}
		if n++; n <= calls {
			return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("s__look", fmt.Sprintf(`{"n":%d}`, n))}}}, nil
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "done"}}}}, nil
	}).As(model.Info{Language: true, Window: 8_000})
}

func paragraphs() Server {
	return looking(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("Lorem ipsum dolor sit amet. ", 100))}})
}

func TestALongRunIsShortenedOnTheWay(t *testing.T) {
	m := talkative(30, scripted.Say("The person wants thirty looks."))
	s := play(t, Options{Model: m, Servers: []Server{paragraphs()}})
	c := s.Conversation(nil)
	if err := c.Keep("the deadline is Friday"); err != nil {
		t.Fatal(err)
	}
	answer := ask(t, c, "look thirty times")
	if answer.Text != "done" || answer.Totals.Calls != 30 {
		t.Errorf("got %q after %d calls", answer.Text, answer.Totals.Calls)
	}
	summaries := 0
	for i, req := range m.Requests() {
		if got := window.TokensOfRequest(req); got > 8_000 {
			t.Errorf("request %d has %d tokens", i, got)
		}
		if isSummary(req) {
			summaries++
			continue
		}
		if summaries > 0 && (!strings.Contains(req.Messages[0].Text(), "thirty looks") || !strings.Contains(req.Messages[0].Text(), "- the deadline is Friday")) {
			t.Errorf("request %d begins with %q", i, req.Messages[0].Text())
		}
	}
	if summaries < 2 || summaries > 10 || len(s.notices(NoticeCompact)) != summaries {
		t.Errorf("%d summaries, reported %d times", summaries, len(s.notices(NoticeCompact)))
	}
	if len(c.Messages()) != 62 {
		t.Errorf("%d messages are kept, want all 62", len(c.Messages()))
	}
}

func TestSummariesNameReadableResults(t *testing.T) {
	m := talkative(1, scripted.Say("It was long."))
	s := play(t, Options{Model: m, WindowShares: WindowShares{Result: 100}, Servers: []Server{paragraphs()}})
	c := s.Conversation(nil)
	ask(t, c, "look")
	ask(t, c, "and then?")
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "go on")
	if head := s.Model().(*scripted.Model).Requests()[4].Messages[0].Text(); !strings.Contains(head, "- junction://result/1: look of s, 2800 characters") {
		t.Errorf("the model reads %s", head)
	}
}

func TestBeginningsReplaceASummaryThatTheModelFailsToWrite(t *testing.T) {
	tests := map[string]scripted.Turn{
		"it fails":         scripted.Fail(errors.New("overloaded")),
		"it says nothing":  scripted.Reply(),
		"it calls instead": scripted.Call("s__look", ""),
	}
	for name, turn := range tests {
		t.Run(name, func(t *testing.T) {
			m := talkative(60, turn)
			s := play(t, Options{Model: m, Servers: []Server{paragraphs()}, Limits: Limits{Steps: 100}})
			c := s.Conversation(nil)
			ask(t, c, "look often, says Ada")
			entries := c.Entries()
			for i := range entries {
				if e := entries[i].Summary; e != nil && (len(e.Text) > 4*summaryTokens+200 || !strings.Contains(e.Text, "Ada")) {
					t.Errorf("an extract of %d bytes: %.200s", len(e.Text), e.Text)
				}
			}
			if got := s.notices(NoticeCompact); len(got) < 2 || !strings.Contains(got[0], "could not write a summary") || strings.Contains(got[0], "nil") {
				t.Errorf("reported %q", got)
			}
		})
	}
}

func TestASmallerWindowThanDeclaredLeadsToASummary(t *testing.T) {
	full := &model.Error{Provider: "p", Status: 400, Err: model.ErrWindow}
	s := play(t, Options{Servers: []Server{paragraphs()}}, scripted.Say(strings.Repeat("one ", 100)), scripted.Say("two"), scripted.Fail(full), scripted.Say("Two answers were given."), scripted.Say("three"))
	c := s.Conversation(nil)
	ask(t, c, "first")
	ask(t, c, "second")
	if answer := ask(t, c, "third"); answer.Text != "three" {
		t.Errorf("got %q", answer.Text)
	}
	before, after := s.model.Requests()[2].Messages, s.last(t).Messages
	if len(after) >= len(before) || !strings.Contains(after[0].Text(), "Two answers were given.") || !strings.HasSuffix(after[len(after)-1].Text(), "third") {
		t.Errorf("the model reads %+v", after)
	}
}

func TestTheWindowIsTheOneThatTheProviderNames(t *testing.T) {
	full := &model.Error{Provider: "p", Status: 400, Err: model.ErrWindow, Window: 16_000}
	s := play(t, Options{}, scripted.Say(strings.Repeat("one ", 100)), scripted.Say("two"), scripted.Fail(full), scripted.Say("Two answers were given."), scripted.Say("three"))
	c := s.Conversation(nil)
	ask(t, c, "first")
	ask(t, c, "second")
	if ask(t, c, "third"); c.WindowUse().Window != 16_000 {
		t.Errorf("the window is %d, want that of the provider's error", c.WindowUse().Window)
	}
}

func TestASummaryWithoutGainIsDropped(t *testing.T) {
	s := play(t, Options{}, scripted.Say("one"), scripted.Say("two"), scripted.Say("A long summary. "+strings.Repeat("It says more than what was said. ", 20)))
	c := s.Conversation(nil)
	ask(t, c, "first")
	ask(t, c, "second")
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Entries() {
		if e.Summary != nil {
			t.Errorf("kept a summary of %d messages that is longer than they are", e.Summary.Messages)
		}
	}
	if got := s.notices(NoticeCompact); len(got) != 1 || !strings.Contains(got[0], "dropped") {
		t.Errorf("reported %q", got)
	}
}

// A model whose window is smaller than was said, and which the tools fill: the history is
// not what is too long, so it stays, and no summary is paid for.
func TestToolsThatFillAWindowAreLeftToSearch(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	for i := range 100 {
		mcp.AddToolWith(srv, mcp.Tool{Name: fmt.Sprintf("tool%d", i), Description: strings.Repeat("It does a thing. ", 40), Annotations: readOnly},
			func(context.Context, struct{}) (string, error) { return "", nil })
	}
	summaries := 0
	m := scripted.Always(func(_ context.Context, req *model.Request) (*model.Response, error) {
		if isSummary(req) {
			summaries++
		}
		if window.TokensOfRequest(req) > 8_000 {
			return nil, &model.Error{Provider: "p", Status: 400, Err: model.ErrWindow, Window: 8_000}
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "fine"}}}}, nil
	}).As(model.Info{Language: true, Window: 200_000})
	s := play(t, Options{Model: m, WindowShares: WindowShares{Tools: -1}, Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}})
	c := s.Conversation(nil)
	for _, question := range []string{"first", "second", "third"} {
		if answer := ask(t, c, question); answer.Text != "fine" {
			t.Errorf("%s: got %q", question, answer.Text)
		}
	}
	if summaries != 0 || len(m.Requests()) != 4 {
		t.Errorf("%d requests, %d of them for summaries; want 4 and none", len(m.Requests()), summaries)
	}
}

func TestAWindowThatHoldsNotEvenTheQuestionIsAnError(t *testing.T) {
	s := play(t, Options{Model: scripted.New(scripted.Say("never")).As(model.Info{Language: true, Window: 2_000})})
	answer, err := s.Conversation(nil).Ask(t.Context(), Question{Text: strings.Repeat("why ", 5_000)})
	if !errors.Is(err, ErrFull) || answer.Stop != stopError {
		t.Errorf("got %v, stopped by %q", err, answer.Stop)
	}
}

// chaos is a model that does at random what models do: good calls and bad ones,
// texts, nothing at all, errors in the middle, and windows that are full.
func chaos(random *rand.Rand, cancel func()) scripted.Turn {
	return scripted.Func(func(req *model.Request) (*model.Response, error) {
		if isSummary(req) {
			return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "A summary."}}}}, nil
		}
		parts := []model.Part{{Text: "\n"}}
		for range random.IntN(4) {
			parts = append(parts, []model.Part{
				scripted.Calling("s__look", fmt.Sprintf(`{"n":%d}`, random.IntN(1000))),
				scripted.Calling("s__cancel", ""),
				scripted.Calling("nothing_like_it", `{"a":1}`),
				{Call: &model.Call{ID: "same", Name: "s__look", Malformed: "cut", Raw: `{"n`}},
				{Text: "Let me see.\xff"},
				{Text: "  \n"},
				{Reasoning: &model.Reasoning{Text: "hm"}},
				{Media: &model.Media{Type: "image/png", Data: []byte("x")}},
			}[random.IntN(8)])
		}
		response := &model.Response{Message: model.Message{Parts: parts}}
		switch random.IntN(10) {
		case 0:
			return nil, &model.Error{Provider: "p", Status: 400, Err: model.ErrWindow}
		case 1:
			return response, fmt.Errorf("cut: %w", model.ErrBroken)
		case 2:
			cancel()
		case 3:
			response.Stop = model.StopPause
		case 4, 5:
			response.Message.Parts = []model.Part{{Text: "That is all."}}
		}
		return response, nil
	})
}

// However a run ends, whatever the model and the person do, a conversation can be
// resumed from every point of its record, and the strictest provider takes it.
func TestAConversationCanBeResumedFromEveryPoint(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		var cancel context.CancelFunc
		srv := mcp.NewServer("s", "1")
		mcp.AddToolWith(srv, mcp.Tool{Name: "look", Annotations: readOnly}, func(_ context.Context, in struct{ N int }) (string, error) {
			if in.N%7 == 0 {
				return "", errors.New("no luck")
			}
			return strings.Repeat("x ", in.N), nil
		})
		mcp.AddToolWith(srv, mcp.Tool{Name: "cancel", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) { cancel(); <-ctx.Done(); return "", ctx.Err() })
		servers := []Server{{Name: "s", Handler: srv, Trusted: true}}
		m := scripted.Always(chaos(random, func() { cancel() })).As(model.Info{Language: true, Window: 3_000})
		s := play(t, Options{Model: m, Servers: servers, Limits: Limits{Steps: 6}, WindowShares: WindowShares{Result: 200}})
		c := s.Conversation(nil)
		for n := range 5 {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			_, err := c.Ask(ctx, Question{Text: fmt.Sprintf("question %d", n)})
			cancel()
			if errors.Is(err, model.ErrInvalid) {
				t.Fatalf("seed %d: question %d: %v", seed, n, err)
			}
		}
		resumeEverywhere(t, seed, servers, c.Entries())
	}
}

func resumeEverywhere(t *testing.T, seed uint64, servers []Server, entries []Entry) {
	t.Helper()
	strict := scripted.Always(scripted.Say("here we are")).As(model.Info{Language: true, Window: 100_000})
	s := play(t, Options{Model: strict, Servers: servers})
	for cut := range len(entries) + 1 {
		c := s.Conversation(nil, slices.Clone(entries[:cut])...)
		if answer, err := c.Ask(t.Context(), Question{Text: "go on"}); err != nil || answer.Text != "here we are" {
			t.Fatalf("seed %d, resumed after %d of %d entries: %v", seed, cut, len(entries), err)
		}
		again := s.Conversation(nil, c.Entries()...)
		if _, err := again.Ask(t.Context(), Question{Text: "and once more"}); err != nil {
			t.Fatalf("seed %d, resumed twice after %d entries: %v", seed, cut, err)
		}
	}
}
