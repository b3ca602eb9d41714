package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/state"
)

// works is a server whose tool runs as a task, for an hour or until it may go on.
type works struct {
	Server
	proceed   chan string // what it returns, or an error where that begins so
	calls     atomic.Int32
	cancelled chan error
}

func newWorks(t *testing.T) *works {
	t.Helper()
	w := &works{proceed: make(chan string, 1), cancelled: make(chan error, 1)}
	s := mcp.NewServer("works", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "dig", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		w.calls.Add(1)
		_ = mcp.Progress(ctx, 1, 2, "at the first stone") // nobody learns if that fails
		select {
		case text := <-w.proceed:
			if why, failed := strings.CutPrefix(text, "error "); failed {
				return "", errors.New(why)
			}
			return text, nil
		case <-ctx.Done():
			w.cancelled <- context.Cause(ctx)
			return "", context.Cause(ctx)
		}
	})
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}, Store: state.NewMemory(0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { long.Close() })
	w.Server = Server{Name: "works", Handler: long.Middleware()(s), Trusted: true, Origin: []string{"works", "--all"}}
	return w
}

// A saved record is what a process that was killed leaves.
type saved struct {
	mu      sync.Mutex
	entries []Entry
}

func (s *saved) Append(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
	return nil
}

// read is the record as it is read from a disk.
func (s *saved) read(t *testing.T) (entries []Entry) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(s.entries)
	if err == nil {
		err = json.Unmarshal(text, &entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// dig begins a conversation whose call became a task, and returns it with its record, and what ends the run.
func dig(t *testing.T, s *stage) (c *Conversation, record *saved, end func(cause error) (Answer, error)) {
	t.Helper()
	record = new(saved)
	c = s.Conversation(record)
	ctx, cancel := context.WithCancelCause(t.Context())
	type ended struct {
		Answer
		error
	}
	over := make(chan ended, 1)
	go func() {
		answer, err := c.Ask(ctx, Question{Text: "dig"})
		over <- ended{answer, err}
	}()
	synctest.Wait()
	if len(c.Tasks()) != 1 {
		t.Fatalf("tasks are %+v", c.Tasks())
	}
	return c, record, func(cause error) (Answer, error) {
		if cause != nil {
			cancel(cause)
		}
		e := <-over
		cancel(nil)
		return e.Answer, e.error
	}
}

// texts returns all results that the model got, and the messages in the role of the user.
func (s *stage) texts(t *testing.T) (results, said []string) {
	t.Helper()
	for _, m := range s.last(t).Messages {
		for _, p := range m.Parts {
			switch {
			case p.Result != nil:
				results = append(results, p.Result.Text())
			case m.Role == model.RoleUser:
				said = append(said, p.Text)
			}
		}
	}
	return results, said
}

func watch(t *testing.T, c *Conversation) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { c.WatchTasks(ctx) })
	return func() { cancel(); watching.Wait() }
}

// look reads what came of a task.
func look(uri string) model.Part {
	return scripted.Calling(readName, fmt.Sprintf(`{"uri":%q}`, uri))
}

func TestACallWaitsForItsTaskAndShowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		s := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""), scripted.Say("Gold."))
		c, record, end := dig(t, s)
		began := time.Now()
		time.Sleep(3 * time.Second)
		now := c.Tasks()[0]
		want := Task{Number: 1, Server: "works", Tool: "dig", Began: now.Began, Status: "working", Message: "at the first stone"}
		if now != want || now.Began.After(began) {
			t.Errorf("the task is %+v, want %+v", now, want)
		}
		w.proceed <- "gold"
		answer, err := end(nil)
		if err != nil || answer.Text != "Gold." || len(c.Tasks()) != 0 {
			t.Errorf("got %+v, %v; left are %+v", answer, err, c.Tasks())
		}
		if results, _ := s.texts(t); !slices.Equal(results, []string{"gold"}) {
			t.Errorf("the model got %q", results)
		}
		progress := 0
		for _, e := range s.eventsOf(func(Event) bool { return true }) {
			if e.Progress != nil && e.Progress.Message == "at the first stone" {
				progress++
			}
		}
		if progress == 0 {
			t.Error("no progress was reported")
		}
		if again := s.Conversation(nil, record.read(t)...); len(again.Tasks()) != 0 {
			t.Errorf("after a restart there are %+v", again.Tasks())
		}
	})
}

// A process is killed in the middle of a task; the next one waits for it, and the model gets its result once.
func TestATaskContinuesAfterARestart(t *testing.T) {
	tests := []struct {
		name, comes string
		isError     bool
		says, reads string
	}{
		{"done", "gold", false, "is over", "gold"},
		{"failed", "error the spade broke", true, "has failed", "the spade broke"},
		{"nothing", "", false, "is over", "(no content)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorks(t)
				first := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
				_, killed, end := dig(t, first)
				entries := killed.read(t) // all that a kill leaves
				_, _ = end(ErrLeft)

				s := play(t, Options{Servers: []Server{w.Server}},
					scripted.Reply(look("junction://result/1")), scripted.Say("Gold."), scripted.Say("As I said."))
				record := &saved{entries: slices.Clone(entries)}
				c := s.Conversation(record, entries...)
				if all := c.Tasks(); len(all) != 1 || all[0].Status != TaskUnseen || !all[0].Left || all[0].Tool != "dig" {
					t.Fatalf("the tasks are %+v", all)
				}
				stop := watch(t, c)
				time.Sleep(5 * time.Second)
				if all := c.Tasks(); len(all) != 1 || all[0].Status != "working" {
					t.Errorf("the tasks are %+v", all)
				}
				stop() // which cancels nothing
				stop = watch(t, c)
				w.proceed <- test.comes
				time.Sleep(5 * time.Second)
				stop()
				var reported []Returned
				for _, e := range s.eventsOf(func(Event) bool { return true }) {
					if e.Returned != nil {
						reported = append(reported, *e.Returned)
					}
				}
				if len(reported) != 1 || reported[0].Task != 1 || !strings.Contains(reported[0].Text, test.reads) || reported[0].IsError != test.isError || reported[0].Kept != "junction://result/1" {
					t.Errorf("reported %+v", reported)
				}
				if answer := ask(t, c, "and?"); answer.Text != "Gold." {
					t.Errorf("got %+v", answer)
				}
				results, said := s.texts(t)
				if len(results) != 2 || !strings.Contains(results[0], "It went on as task 1 of its server") || !strings.Contains(results[1], test.reads) {
					t.Errorf("the model got %q", results)
				}
				if len(said) != 3 || !strings.Contains(said[1], test.says) || !strings.Contains(said[1], "junction://result/1") || strings.Contains(said[1], "gold") {
					t.Errorf("in the role of the person: %q", said)
				}

				// And once: the record says that it was reported.
				again := s.Conversation(nil, record.read(t)...)
				if len(again.Tasks()) != 0 {
					t.Errorf("left are %+v", again.Tasks())
				}
				stop = watch(t, again)
				time.Sleep(time.Minute)
				stop()
				ask(t, again, "again?")
				if _, said := s.texts(t); strings.Count(strings.Join(said, "\n"), "task 1") != 1 {
					t.Errorf("in the role of the person: %q", said)
				}
				if w.calls.Load() != 1 {
					t.Errorf("the tool was called %d times", w.calls.Load())
				}
			})
		})
	}
}

// What came while the model answers becomes part of the conversation when it has.
func TestMessagesDuringARunWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		first := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
		_, record, end := dig(t, first)
		entries := record.read(t)
		_, _ = end(ErrLeft)
		answering, goOn := make(chan struct{}), make(chan struct{})
		s := play(t, Options{Servers: []Server{w.Server, calculator()}},
			scripted.Call("calc__add", `{"A":1,"B":1}`),
			scripted.Turn(func(context.Context, *model.Request) (*model.Response, error) {
				close(answering)
				<-goOn
				return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "Two."}}}, Stop: model.StopEnd}, nil
			}), scripted.Say("Gold."))
		c := s.Conversation(nil, entries...)
		defer watch(t, c)()
		go func() { _, _ = c.Ask(t.Context(), Question{Text: "meanwhile, add"}) }()
		<-answering
		w.proceed <- "gold"
		time.Sleep(5 * time.Second)
		for _, e := range c.Entries() {
			if e.Task != nil && e.Task.Came != nil {
				t.Error("it was recorded in the middle of a run")
			}
		}
		close(goOn)
		synctest.Wait()
		last := c.Entries()[len(c.Entries())-1]
		if last.Task == nil || last.Task.Came == nil || last.Task.Came.LongResult.Text != "gold" {
			t.Errorf("the last entry is %+v", last)
		}
		ask(t, c, "and?")
		if err := model.Check(s.last(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestTheEndOfARunDecidesWhetherItsTasksContinue(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		cause  error
		goesOn bool
	}{
		{"the person interrupts it", Limits{}, context.Canceled, false},
		{"the program ends", Limits{}, ErrLeft, true},
		{"its time is over", Limits{Time: 10 * time.Second}, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorks(t)
				s := play(t, Options{Servers: []Server{w.Server}, Limits: test.limits}, scripted.Call("works__dig", ""), scripted.Say("Well."))
				c, record, end := dig(t, s)
				_, _ = end(test.cause)
				left := s.Conversation(nil, record.read(t)...).Tasks()
				if len(c.Tasks()) != len(left) || (len(left) == 1) != test.goesOn {
					t.Errorf("in this process: %+v, after a restart: %+v", c.Tasks(), left)
				}
				synctest.Wait()
				select {
				case err := <-w.cancelled:
					if test.goesOn {
						t.Errorf("the task ended: %v", err)
					}
				default:
					if !test.goesOn {
						t.Error("the task goes on")
					}
				}
				ask(t, c, "and?")
				results, _ := s.texts(t)
				if got := strings.Join(results, "\n"); strings.Contains(got, "continues as task 1") != test.goesOn {
					t.Errorf("the model got %q", got)
				}
			})
		})
	}
}

func TestUsersLeaveOrCancelTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		s := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""), scripted.Say("Later."), scripted.Call("works__dig", ""), scripted.Say("So be it."), scripted.Say("Yes."))
		c, _, end := dig(t, s)
		defer watch(t, c)()
		if err := c.LeaveTask(2); err == nil || err.Error() != "no task 2 is running" {
			t.Errorf("another one: %v", err)
		}
		if err := c.LeaveTask(1); err != nil {
			t.Fatal(err)
		}
		if answer, err := end(nil); err != nil || answer.Text != "Later." {
			t.Fatalf("got %+v, %v", answer, err)
		}
		if all := c.Tasks(); len(all) != 1 || !all[0].Left {
			t.Errorf("the tasks are %+v", all)
		}
		if err := c.LeaveTask(1); err == nil {
			t.Error("a task was left twice")
		}
		go func() { _, _ = c.Ask(t.Context(), Question{Text: "dig again"}) }()
		synctest.Wait()
		if all := c.Tasks(); len(all) != 2 || all[1].Number != 2 || all[1].Left {
			t.Errorf("the tasks are %+v", all)
		}
		for number := range 2 {
			if err := c.CancelTask(t.Context(), number+1); err != nil {
				t.Error(err)
			}
			if err := <-w.cancelled; err == nil {
				t.Error("it was not cancelled")
			}
		}
		time.Sleep(5 * time.Second)
		if all := c.Tasks(); len(all) != 0 {
			t.Errorf("the tasks are %+v", all)
		}
		if err := c.CancelTask(t.Context(), 1); err == nil {
			t.Error("a task was cancelled twice")
		}
		ask(t, c, "was it cancelled?")
		results, said := s.texts(t)
		if !strings.Contains(results[1], "was cancelled") || !strings.Contains(strings.Join(said, "\n"), "task 1 was cancelled before it was over.]") {
			t.Errorf("the model got %q and %q", results, said)
		}
	})
}
