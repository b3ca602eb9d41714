package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func digging(now time.Time) *scripted {
	return &scripted{running: []host.Task{
		{Number: 1, Server: "works", Tool: "dig", Began: now.Add(-90 * time.Second), Status: "working", Message: "at the\nfirst stone", Left: true},
		{Number: 3, Server: "web", Tool: "fetch", Agent: "reader", Began: now.Add(-13 * time.Hour), Status: "input_required"},
	}}
}

func TestTasksAreListedCancelledAndLeft(t *testing.T) {
	session := &scripted{}
	play(t, session, 120, 20, func(st *stage) {
		session.running = digging(st.screen.now()).running
		first, second := session.running[0].Began.Format("15:04"), session.running[1].Began.Format("2 Jan 15:04")
		st.keys("/tasks<enter>")
		st.holds("▸ task 1 works · dig  working, since " + first + " (1 min 30 s)")
		st.holds("    at the first stone")
		st.holds("task 3 web · fetch  of sub-agent reader, input required, since " + second + " (13 h 0 min), a call waits for it")
		st.wait(time.Minute)
		st.keys("c")
		st.printedText("the server is asked to cancel task 1")
		st.keys("<down>c")
		if session.did("cancel task 3") {
			t.Error("a key that was held cancelled two tasks")
		}
		st.wait(time.Minute)
		st.keys("l")
		st.printedText("the model continues without task 3, and gets its result later")
		st.keys("<esc>")
		session.running = nil
		st.keys("/tasks<enter>")
		st.holds("no call runs as a task")
		st.keys("<esc>/tasks cancel 7<enter>/tasks leave 8<enter>")
		for _, want := range []string{"cancel task 1", "leave task 3", "cancel task 7", "leave task 8"} {
			if !session.did(want) {
				t.Errorf("there was no %q", want)
			}
		}
		st.keys("/tasks stop 7<enter>")
		st.holds("expected /tasks, /tasks cancel NUMBER or /tasks leave NUMBER")
		session.fail = errors.New("no task 7 is running")
		st.keys("/tasks cancel 7<enter>")
		st.printedText("error: no task 7 is running")
	})
}

func TestTasksAreListedAndCancelledLineByLine(t *testing.T) {
	session := digging(time.Now())
	out := lineByLine(t, session, nil, "/tasks", "/tasks cancel 1", "/tasks leave 3")
	for _, want := range []string{"task 1 works · dig  working, since ", "at the first stone", "the server is asked to cancel task 1", "the model continues without task 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	if !session.did("cancel task 1") || !session.did("leave task 3") {
		t.Errorf("done: %v", session.calls)
	}
}

// came is what came of a task that no call waited for.
func came(text string) host.Event {
	return host.Event{Returned: &host.Returned{CallID: "c1", Task: 1, Server: "works", Tool: "dig", Text: text, Kept: "junction://result/1"}}
}

func TestTheModelContinuesWithResultsOfATask(t *testing.T) {
	session := &scripted{}
	play(t, session, 70, 20, func(st *stage) {
		st.settle()
		if n := session.watching.Load(); n != 1 {
			t.Errorf("tasks are waited for %d times", n)
		}
		st.tell(came("gold"))
		st.settle()
		st.printedText("task 1 is over:\n✓ works · dig\n  gold")
		st.printedText("Task 1 is over; the model continues with its result.")
		if !session.did("ask Continue with the result of the task: read it, and finish the request.") {
			t.Errorf("done: %v", session.calls)
		}
		st.keys("/new<enter>")
		if n := session.watching.Load(); n != 1 {
			t.Errorf("after /new tasks are waited for %d times", n)
		}
	})
}

// A result that comes during a run waits for its end, and for a text that the user typed meanwhile.
func TestResultsOfATaskWaitForTheirTurn(t *testing.T) {
	goOn := make(chan struct{})
	asked := make(chan host.Question, 10)
	var fails error
	session := &scripted{ask: func(ctx context.Context, q host.Question) error {
		asked <- q
		select {
		case <-goOn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return fails
	}}
	play(t, session, 70, 20, func(st *stage) {
		goOn = make(chan struct{})
		st.keys("one<enter>")
		st.tell(came("gold"))
		if q := <-asked; q.Text != "one" || len(asked) != 0 {
			t.Errorf("asked %+v and %d more", q, len(asked))
		}
		goOn <- struct{}{}
		st.settle()
		if q := <-asked; !q.Relayed || !strings.HasPrefix(q.Text, "Continue with the result") {
			t.Errorf("asked %+v", q)
		}
		st.tell(came("silver"))
		st.keys("two<enter>")
		goOn <- struct{}{}
		st.settle()
		if q := <-asked; q.Text != "two" {
			t.Errorf("asked %+v", q)
		}
		st.keys("<esc>")
		st.settle()
		if len(asked) != 0 {
			t.Errorf("asked %+v: what was typed had what came", <-asked)
		}
		st.keys("three<enter>")
		<-asked
		st.tell(came("tin"))
		st.keys("<esc>")
		st.settle()
		fails = errors.New("the provider is down")
		st.keys("four<enter>")
		<-asked
		st.tell(came("lead"))
		goOn <- struct{}{}
		st.settle()
		if len(asked) != 0 {
			t.Errorf("after an error the model was asked %+v", <-asked)
		}
	})
}

func TestLeavingTheProgramLeavesItsTasks(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		saved      Saved
		want       error
	}{
		{"a conversation that is kept", "/quit<enter>", Saved{ID: "abc"}, host.ErrLeft},
		{"one that is not", "/quit<enter>", Saved{}, context.Canceled},
		{"an interruption", "<esc>", Saved{ID: "abc"}, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			var cause error
			session := &scripted{saved: test.saved, ask: func(ctx context.Context, _ host.Question) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return cause
			}}
			play(t, session, 70, 20, func(st *stage) {
				st.keys("dig<enter>" + test.keys)
				st.settle()
				if !errors.Is(cause, test.want) {
					t.Errorf("the run ended with %v, want %v", cause, test.want)
				}
			})
		})
	}
}

func TestATaskIsShownInAContinuedConversation(t *testing.T) {
	call := &model.Call{ID: "c1", Name: "works__dig", Arguments: []byte(`{}`)}
	session := &scripted{saved: Saved{ID: "abc"}, entries: []host.Entry{
		{Message: &model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: "dig"}}}},
		{Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: call}}}},
		{Task: &host.TaskEntry{Number: 1, Began: &host.TaskBegan{Tool: host.ToolRef{Server: "works", Tool: "dig"}, Via: "works", ID: "x", CallID: "c1"}}},
	}}
	play(t, session, 70, 20, func(st *stage) {
		st.printedText("✓ works · dig\n  went on as task 1")
		st.printedText("This has no answer: junction chat ended too early.")
		if strings.Contains(st.scrollback(), "Find out whether") {
			t.Errorf("the person is to find out what is known:\n%s", st.scrollback())
		}
	})
	session.entries = append(session.entries, host.Entry{Task: &host.TaskEntry{Number: 1, Came: &host.TaskCame{LongResult: &host.LongResult{Text: "gold\nand more"}}}})
	play(t, session, 70, 20, func(st *stage) { st.printedText("task 1 is over: gold and more") })
}

// A server that repeatedly returns tasks cannot keep the model running without the user.
func TestAutomaticContinuationsAreBounded(t *testing.T) {
	session := &scripted{}
	play(t, session, 120, 20, func(st *stage) {
		for range maxByItself + 3 {
			st.tell(came("gold"))
			st.settle()
		}
		if n := len(session.calls); n != maxByItself {
			t.Errorf("it went on %d times", n)
		}
		st.printedText("Task 1 is over. The model has already continued by itself 8 times since your last question, so it waits: ask it to\ncontinue.")
		st.keys("go on<enter>")
		st.tell(came("gold"))
		st.settle()
		if n := len(session.calls); n != maxByItself+2 {
			t.Errorf("after a question it was asked %d times in all", n)
		}
	})
}

// Line by line nothing can be shown before the line that is being typed: that there is something, is said.
func TestEventsWhileTypingAreShown(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	var out safeText
	ui, err := New(Options{In: in, Out: &out, Env: []string{"TERM=xterm"}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	session := &scripted{info: model.Info{Name: "m"}}
	ended := make(chan error, 1)
	go func() { ended <- ui.Run(t.Context(), session) }()
	until := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(out.String(), text); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q is not printed: %s", text, out.String())
			}
		}
	}
	until("> ")
	ui.Event(came("gold"))
	until("\n(task 1 is over; Enter shows its outcome)\n> ")
	if strings.Contains(out.String(), "gold") {
		t.Errorf("it is shown where a line is typed: %s", out.String())
	}
	if _, err := io.WriteString(typed, "\n"); err != nil {
		t.Fatal(err)
	}
	until("task 1 is over:\n✓ works · dig\n  gold")
	typed.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !session.did("ask Continue with the result of the task: read it, and finish the request.") {
		t.Errorf("done: %v", session.calls)
	}
}

// safeText is a text that one goroutine writes and another one reads.
type safeText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
