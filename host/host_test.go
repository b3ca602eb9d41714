package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/host/internal/history"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

func TestAQuestionGoesThroughTheWholeLoop(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}},
		scripted.Call("calc__add", `{"A":2,"B":40}`), scripted.Say("It is 42."))
	answer := ask(t, s.Conversation(nil), "add 2 and 40")
	if answer.Text != "It is 42." || answer.Stop != "end" {
		t.Errorf("got %q, stopped by %q", answer.Text, answer.Stop)
	}
	if got := s.results(t); len(got) != 1 || got[0].Text() != "42" || got[0].IsError {
		t.Errorf("the model got %+v", got)
	}
	if len(s.desk.cards) != 0 {
		t.Errorf("the person was asked about a trusted tool that only reads: %+v", s.desk.cards)
	}
	var steps []string
	for _, e := range s.events {
		switch {
		case e.Listed != nil:
			steps = append(steps, "list")
		case e.Asked != nil:
			steps = append(steps, "ask")
		case e.Decided != nil:
			steps = append(steps, "decide")
		case e.Called != nil:
			steps = append(steps, "call")
		case e.Returned != nil:
			steps = append(steps, "result")
		case e.Answered != nil:
			steps = append(steps, "answer")
		}
	}
	if want := []string{"list", "ask", "decide", "call", "result", "ask", "decide", "answer"}; !slices.Equal(steps, want) {
		t.Errorf("happened %v, want %v", steps, want)
	}
	if answer.Totals.Requests != 2 || answer.Totals.Calls != 1 {
		t.Errorf("counted %+v", answer.Totals)
	}
}

// One failed tool must not abort the run (mark3labs/kit#31).
func TestAToolsErrorGoesBackToTheModel(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}},
		scripted.Call("calc__fail", ""), scripted.Say("It failed, and I say so."))
	answer := ask(t, s.Conversation(nil), "fail, please")
	got := s.results(t)
	if len(got) != 1 || !got[0].IsError || !strings.Contains(got[0].Text(), "the disk is full") {
		t.Errorf("the model got %+v", got)
	}
	if answer.Stop != "end" {
		t.Errorf("stopped by %q", answer.Stop)
	}
}

func TestInvalidCallsOfTheModelGetHelpfulErrors(t *testing.T) {
	tests := []struct {
		name, tool, arguments, want string
	}{
		{"a tool that there is not", "calc__sub", `{}`, `There is no tool "calc__sub".`},
		{"a tool without its server", "add", `{}`, `There is a tool "calc__add".`},
		{"arguments that do not fit", "calc__add", `{"A":"two","B":40}`, "do not fit the schema of calc__add"},
		{"a resource that there is not", "read_resource", `{"uri":"nothing://x"}`, "no server lists nothing://x"},
		{"a result that is not kept", "read_resource", `{"uri":"junction://result/9"}`, "there is no junction://result/9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Options{Servers: []Server{calculator()}}, scripted.Call(test.tool, test.arguments), scripted.Say("ok"))
			ask(t, s.Conversation(nil), "go")
			if got := s.results(t); len(got) != 1 || !got[0].IsError || !strings.Contains(got[0].Text(), test.want) {
				t.Errorf("got %+v, want %q", got[0], test.want)
			}
		})
	}
}

func TestCallsThatOnlyReadRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		met := make(chan struct{})
		srv := mcp.NewServer("s", "1")
		mcp.AddToolWith(srv, mcp.Tool{Name: "look", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case met <- struct{}{}:
			case <-met:
			case <-time.After(5 * time.Second):
				return "", errors.New("alone")
			}
			return "met", nil
		})
		s := play(t, Options{Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
			scripted.Reply(scripted.Calling("s__look", ""), scripted.Calling("s__look", "")), scripted.Say("done"))
		ask(t, s.Conversation(nil), "look twice")
		for _, r := range s.results(t) {
			if r.Text() != "met" {
				t.Errorf("got %q", r.Text())
			}
		}
	})
}

func TestACallThatWritesRunsAloneInItsTurn(t *testing.T) {
	var mu sync.Mutex
	var order []string
	running := 0
	tool := func(name string) func(context.Context, struct{}) (string, error) {
		return func(context.Context, struct{}) (string, error) {
			mu.Lock()
			running++
			if running > 1 {
				order = append(order, "overlap")
			}
			order = append(order, name)
			mu.Unlock()
			mu.Lock()
			running--
			mu.Unlock()
			return name, nil
		}
	}
	srv := mcp.NewServer("s", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "first", Annotations: writes}, tool("first"))
	mcp.AddToolWith(srv, mcp.Tool{Name: "second", Annotations: writes}, tool("second"))
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
		scripted.Reply(scripted.Calling("s__first", ""), scripted.Calling("s__second", "")), scripted.Say("done"))
	ask(t, s.Conversation(nil), "write twice")
	if want := []string{"first", "second"}; !slices.Equal(order, want) {
		t.Errorf("ran %v, want %v", order, want)
	}
	if len(s.desk.cards) != 2 {
		t.Errorf("the person was asked %d times", len(s.desk.cards))
	}
}

func TestTheHistoryCanContinueAfterACancelledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := mcp.NewServer("s", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "slow", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
		scripted.Reply(scripted.Calling("s__slow", ""), scripted.Calling("s__slow", "")), scripted.Say("as I was saying"))
	c := s.Conversation(nil)
	answer, err := c.Ask(ctx, Question{Text: "be slow"})
	if !errors.Is(err, context.Canceled) || answer.Stop != "cancelled" {
		t.Fatalf("got %q and %v", answer.Stop, err)
	}
	if answer := ask(t, c, "go on"); answer.Text != "as I was saying" {
		t.Errorf("got %q", answer.Text)
	}
	results := 0
	for _, m := range s.last(t).Messages {
		for _, p := range m.Parts {
			if p.Result != nil && p.Result.IsError && strings.Contains(p.Result.Text(), "cancelled") {
				results++
			}
		}
	}
	if results != 2 {
		t.Errorf("%d results say that the run was cancelled, want 2", results)
	}
}

// A resumed session with a call and no result is refused by providers (charmbracelet/crush#2622).
func TestAHistoryThatWasCutOffIsMended(t *testing.T) {
	entries := []Entry{
		{Message: &model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: "add"}}}},
		{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{scripted.Calling("calc__add", `{"A":1,"B":2}`)}}},
	}
	entries[1].Message.Parts[0].Call.ID = "c1"
	s := play(t, Options{Servers: []Server{calculator()}}, scripted.Say("where were we"))
	c := s.Conversation(nil, entries...)
	if answer := ask(t, c, "go on"); answer.Text != "where were we" {
		t.Errorf("got %q", answer.Text)
	}
	s.Conversation(nil, c.Entries()...) // resumed again
	if got := s.notices(NoticeRepaired); len(got) != 1 || !strings.Contains(got[0], "a call has no result") {
		t.Errorf("reported %q, want it once", got)
	}
}

// The model repeats itself (charmbracelet/crush#2214).
func TestAModelThatRepeatsItselfIsWarnedAndThenStopped(t *testing.T) {
	loop := scripted.Always(scripted.Call("calc__add", `{"A":1,"B":1}`))
	s := play(t, Options{Model: loop, Servers: []Server{calculator()}})
	answer := ask(t, s.Conversation(nil), "loop")
	if answer.Stop != "loop" || answer.Totals.Calls != history.LoopStop {
		t.Errorf("stopped by %q after %d calls", answer.Stop, answer.Totals.Calls)
	}
	warned := false
	for _, m := range loop.Requests()[history.LoopWarn].Messages {
		for _, p := range m.Parts {
			warned = warned || p.Result != nil && strings.Contains(p.Result.Text(), "3 times in a row")
		}
	}
	if !warned {
		t.Error("the model was not warned")
	}
}

func TestLimitsEndARun(t *testing.T) {
	price := model.Info{Provider: "p", Name: "m", Language: true, Price: model.Price{Input: 1000, Output: 1000}}
	n := 0
	busy := func(info model.Info) model.Model {
		return scripted.Always(scripted.Func(func(*model.Request) (*model.Response, error) {
			n++
			return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("calc__add", fmt.Sprintf(`{"A":%d,"B":1}`, n))}}, Usage: model.Usage{Input: 1000, Output: 10}}, nil
		})).As(info)
	}
	tests := []struct {
		name   string
		limits Limits
		want   string
	}{
		{"steps", Limits{Steps: 3}, "steps"},
		{"tokens", Limits{Tokens: 2500}, "tokens"},
		{"money", Limits{Money: 1.5}, "money"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Options{Model: busy(price), Servers: []Server{calculator()}, Limits: test.limits})
			answer := ask(t, s.Conversation(nil), "go")
			if answer.Stop != test.want || answer.Totals.Requests > 4 {
				t.Errorf("stopped by %q after %d requests", answer.Stop, answer.Totals.Requests)
			}
			if len(s.notices(NoticeLimit)) != 1 {
				t.Error("no notice says so")
			}
		})
	}
}

func TestACostThatIsNotKnownIsNotNothing(t *testing.T) {
	for _, test := range []struct {
		name  string
		info  model.Info
		wants string
	}{
		{"no price", model.Info{Language: true}, `"costUnknown":true`},
		{"a price", model.Info{Language: true, Price: model.Price{Input: 1e6, Output: 1e6}}, `"cost":11`},
		{"free", model.Info{Language: true, Price: model.Price{Free: true}}, ``},
		{"no language model", model.Info{}, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := scripted.Always(scripted.Func(func(*model.Request) (*model.Response, error) {
				return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "fine"}}}, Usage: model.Usage{Input: 10, Output: 1}}, nil
			})).As(test.info)
			s := play(t, Options{Model: m})
			answer := ask(t, s.Conversation(nil), "go")
			text, err := json.Marshal(answer.Totals)
			if err != nil || test.wants == "" && strings.Contains(string(text), "cost") || !strings.Contains(string(text), test.wants) || strings.Contains(string(text), `"cost":0`) {
				t.Errorf("the totals are %s (%v), want %s in them", text, err, test.wants)
			}
		})
	}
}

// Answers were cut and nobody said so (mark3labs/mcphost#116).
func TestWhyTheModelStoppedIsReported(t *testing.T) {
	tests := []struct {
		stop, detail, want string
	}{
		{"length", "max_tokens", "length"},
		{"refusal", "content_filter", "refusal"},
		{"other", "weather", "end"},
	}
	for _, test := range tests {
		t.Run(test.stop, func(t *testing.T) {
			s := play(t, Options{}, scripted.Respond(&model.Response{Message: model.Message{Parts: []model.Part{{Text: "so far"}}}, Stop: model.StopReason(test.stop), StopDetail: test.detail}))
			answer := ask(t, s.Conversation(nil), "tell me")
			notices := s.notices(NoticeStop)
			if answer.Stop != test.want || answer.Text != "so far" || len(notices) != 1 || !strings.Contains(notices[0], test.detail) {
				t.Errorf("stopped by %q, reported %q", answer.Stop, notices)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffIsKeptWithoutItsCalls(t *testing.T) {
	broken := fmt.Errorf("cut: %w", model.ErrBroken)
	s := play(t, Options{Servers: []Server{calculator()}},
		scripted.Break(broken, model.Part{Text: "I will ad"}, scripted.Calling("calc__add", `{"A":1,"B":1}`)), scripted.Say("I will add."))
	c := s.Conversation(nil)
	if _, err := c.Ask(t.Context(), Question{Text: "add"}); !errors.Is(err, model.ErrBroken) {
		t.Fatalf("got %v", err)
	}
	ask(t, c, "again")
	messages := s.last(t).Messages
	if messages[1].Text() != "I will ad" || len(messages[1].Calls()) != 0 {
		t.Errorf("kept %+v", messages[1])
	}
}

func TestAConversationThatCannotBeStoredEnds(t *testing.T) {
	full := errors.New("no space left")
	s := play(t, Options{}, scripted.Say("hello"))
	_, err := s.Conversation(failing{full}).Ask(t.Context(), Question{Text: "hi"})
	if !errors.Is(err, full) || len(s.model.Requests()) != 0 {
		t.Errorf("got %v after %d requests", err, len(s.model.Requests()))
	}
}

type failing struct{ err error }

func (f failing) Append(Entry) error { return f.err }

func TestOneRunAtATime(t *testing.T) {
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := play(t, Options{}, scripted.Turn(func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	c := s.Conversation(nil)
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = c.Ask(ctx, Question{Text: "first"}) }()
	<-asked
	if _, err := c.Ask(ctx, Question{Text: "second"}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	cancel()
	<-ended
}

func TestEntriesSurviveJSON(t *testing.T) {
	s := play(t, Options{Servers: []Server{calculator()}}, scripted.Call("calc__add", `{"A":2,"B":40}`), scripted.Say("42"), scripted.Say("still 42"))
	c := s.Conversation(nil)
	ask(t, c, "add")
	b, err := json.Marshal(c.Entries())
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatal(err)
	}
	again := s.Conversation(nil, entries...)
	ask(t, again, "and now?")
	if got := len(s.last(t).Messages); got != 5 {
		t.Errorf("the model sees %d messages, want 5", got)
	}
	if again.Totals().Calls != 1 {
		t.Errorf("totals are %+v", again.Totals())
	}
}

// oneAtATime notices who appends while another one does.
type oneAtATime struct {
	appending atomic.Int32
	twice     atomic.Bool
	mu        sync.Mutex
	notes     []string
}

func (r *oneAtATime) Append(e Entry) error {
	if r.appending.Add(1) > 1 {
		r.twice.Store(true)
	}
	runtime.Gosched()
	r.mu.Lock()
	r.notes = append(r.notes, e.Note)
	r.mu.Unlock()
	r.appending.Add(-1)
	return nil
}

// The person keeps notes and switches servers while a run records what it does.
func TestEntriesAreRecordedOneAfterTheOther(t *testing.T) {
	s := play(t, Options{})
	record := new(oneAtATime)
	c := s.Conversation(record)
	var keeping sync.WaitGroup
	for i := range 20 {
		keeping.Go(func() {
			if err := c.Keep(fmt.Sprint("note ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	keeping.Wait()
	if record.twice.Load() || !slices.Equal(record.notes, c.Notes()) {
		t.Errorf("at the same time: %v; the record has %q, the conversation %q", record.twice.Load(), record.notes, c.Notes())
	}
}
