package host

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
)

// A task is of the server that it was of, not of another one of that name.
func TestTasksArePolledAtTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		first := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
		_, record, end := dig(t, first)
		entries := record.read(t)
		_, _ = end(ErrLeft)
		w.proceed <- "gold"

		var asked atomic.Int32
		other := w.Server
		other.Origin, other.Handler = []string{"elsewhere"}, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if strings.HasPrefix(req.Method, "tasks/") {
				asked.Add(1)
			}
			return w.Handler.Handle(ctx, req)
		})
		for _, servers := range [][]Server{{other}, {calculator()}} {
			s := play(t, Options{Servers: servers}, scripted.Say("No."))
			c := s.Conversation(nil, entries...)
			stop := watch(t, c)
			time.Sleep(time.Minute)
			stop()
			if notices := s.notices(NoticeTask); asked.Load() != 0 || len(notices) != 1 || !strings.Contains(notices[0], "junction does not wait for it") {
				t.Errorf("asked %d times, reported %q", asked.Load(), notices)
			}
			if len(c.Tasks()) != 1 {
				t.Error("it is not waiting any more")
			}
			if err := c.CancelTask(t.Context(), 1); err != nil || len(c.Tasks()) != 0 || asked.Load() != 0 {
				t.Errorf("%v, left are %+v, asked %d times", err, c.Tasks(), asked.Load())
			}
		}
	})
}

// Nothing of a server that is not approved, or is off, gets to the model, not even what came of a task.
func TestATaskOfAServerThatMayNotBeUsedWaits(t *testing.T) {
	for _, name := range []string{"not approved", "switched off"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorks(t)
				first := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
				_, record, end := dig(t, first)
				entries := record.read(t)
				_, _ = end(ErrLeft)
				w.proceed <- "gold"
				w.Server.Trusted = name == "switched off"
				s := play(t, Options{Servers: []Server{w.Server}}, scripted.Say("Fine."), scripted.Say("Fine."))
				s.desk.review = func(Review) bool { return true }
				c := s.Conversation(nil, entries...)
				if w.Server.Trusted {
					if err := c.SetOff("works", true); err != nil {
						t.Fatal(err)
					}
				}
				defer watch(t, c)()
				time.Sleep(time.Minute)
				if all := c.Tasks(); len(all) != 1 || all[0].Status != TaskUnseen {
					t.Errorf("the tasks are %+v", all)
				}
				if w.Server.Trusted {
					if err := c.SetOff("works", false); err != nil {
						t.Fatal(err)
					}
				} else {
					ask(t, c, "hello") // which has the server reviewed
				}
				time.Sleep(time.Minute)
				if len(c.Tasks()) != 0 {
					t.Errorf("the tasks are %+v", c.Tasks())
				}
			})
		})
	}
}

// What a sub-agent's call became is the conversation's: after a restart there is no sub-agent.
func TestATaskOfASubAgentContinuesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		own := mcp.NewServer("own", "1")
		mcp.AddToolWith(own, mcp.Tool{Name: "delegate", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
			c, err := Child(ctx, Agent{Name: "digger"})
			if err != nil {
				return "", err
			}
			answer, err := c.Ask(ctx, Question{Text: "dig"})
			return answer.Text, err
		})
		s := play(t, Options{Servers: []Server{w.Server}, Tools: own},
			scripted.Call("host__delegate", ""), scripted.Call("works__dig", ""), scripted.Say("Nothing but stones."), scripted.Say("Stones."))
		c, record, end := dig(t, s)
		if all := c.Tasks(); all[0].Agent != "digger" || all[0].Tool != "dig" {
			t.Errorf("the tasks are %+v", all)
		}
		killed := record.read(t)
		w.proceed <- "stones"
		if answer, err := end(nil); err != nil || answer.Text != "Stones." || len(c.Tasks()) != 0 {
			t.Errorf("got %+v, %v; left are %+v", answer, err, c.Tasks())
		}
		if again := s.Conversation(nil, record.read(t)...); len(again.Tasks()) != 0 {
			t.Errorf("after its end the record has %+v", again.Tasks())
		}
		again := s.Conversation(nil, killed...)
		stop := watch(t, again)
		time.Sleep(5 * time.Second)
		stop()
		if last := again.Entries()[len(again.Entries())-1].Task; last == nil || last.Came == nil || last.Came.LongResult.Text != "stones" {
			t.Errorf("the last entry is %+v", last)
		}
	})
}

// A server that cannot be reached for a while has not lost its tasks.
func TestATaskOutlivesALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		var down atomic.Bool
		with := w.Server.Handler
		w.Server.Handler = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if down.Load() && strings.HasPrefix(req.Method, "tasks/") {
				return mcp.Result{}, mcp.ErrLost
			}
			return with.Handle(ctx, req)
		})
		s := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""), scripted.Say("We shall see."))
		c, _, end := dig(t, s)
		defer watch(t, c)()
		down.Store(true)
		if answer, err := end(nil); err != nil || answer.Text != "We shall see." {
			t.Errorf("got %+v, %v", answer, err)
		}
		if results, _ := s.texts(t); len(results) != 1 || !strings.Contains(results[0], "continues as task 1") {
			t.Errorf("the model got %q", results)
		}
		time.Sleep(10 * time.Minute)
		w.proceed <- "gold"
		down.Store(false)
		time.Sleep(2 * time.Minute)
		if last := c.Entries()[len(c.Entries())-1].Task; last == nil || last.Came == nil || last.Came.LongResult.Text != "gold" || len(w.cancelled) != 0 {
			t.Errorf("the last entry is %+v", last)
		}
	})
}

// After a restart, a question of a task goes to the user, as during a call.
func TestTasksAskAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mcp.NewServer("works", "1")
		mcp.AddToolWith(srv, mcp.Tool{Name: "dig", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(10 * time.Second)
			where, err := mcp.Elicit[struct{ Where string }](ctx, "Where?")
			return "dug in " + where.Where, err
		})
		long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"dig": {}}})
		if err != nil {
			t.Fatal(err)
		}
		defer long.Close()
		server := Server{Name: "works", Handler: long.Middleware()(srv), Trusted: true}
		first := play(t, Options{Servers: []Server{server}}, scripted.Call("works__dig", ""))
		_, record, end := dig(t, first)
		_, _ = end(ErrLeft)
		s := play(t, Options{Servers: []Server{server}})
		s.desk.elicit = func(f Form) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"Where":"the garden"}`)}
		}
		c := s.Conversation(nil, record.read(t)...)
		stop := watch(t, c)
		time.Sleep(time.Minute)
		stop()
		if len(s.desk.forms) != 1 || s.desk.forms[0].Server != "works" || s.desk.forms[0].Request.Message != "Where?" {
			t.Errorf("the person was asked %+v", s.desk.forms)
		}
		if last := c.Entries()[len(c.Entries())-1].Task; last == nil || last.Came == nil || last.Came.LongResult.Text != "dug in the garden" {
			t.Errorf("the last entry is %+v", last)
		}
	})
}

// A task that the record does not know would be lost: it is cancelled, and the run ends.
func TestATaskThatCannotBeRecordedIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		s := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
		full := errors.New("no space left")
		_, err := s.Conversation(until{full}).Ask(t.Context(), Question{Text: "dig"})
		if cause := <-w.cancelled; !errors.Is(err, full) || cause == nil {
			t.Errorf("the run ended with %v, the task with %v", err, cause)
		}
	})
}

// until records all but tasks, and nothing after one.
type until struct{ err error }

func (u until) Append(e Entry) error {
	if e.Task != nil || e.Message != nil && e.Message.Role == model.RoleTool {
		return u.err
	}
	return nil
}

// What is recorded of a task is no run, so a question waits for it; and whoever hears of it may change the conversation.
func TestQuestionsWaitForTheArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		first := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""))
		_, record, end := dig(t, first)
		entries := record.read(t)
		_, _ = end(ErrLeft)
		w.proceed <- "gold"
		var c *Conversation
		heard := 0
		s := &stage{model: scripted.New(scripted.Say("Yes."))}
		h, err := New(Options{Model: s.model, Servers: []Server{w.Server}, OnEvent: func(e Event) {
			if e.Returned != nil && e.Returned.Task == 1 {
				heard++
				if err := c.SetOff("works", true); err != nil {
					t.Error(err)
				}
				if err := c.SetOff("works", false); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		slow := make(chan struct{})
		c = h.Conversation(slowly{slow}, entries...)
		defer watch(t, c)()
		time.Sleep(5 * time.Second) // it is being recorded
		answered := make(chan error, 1)
		go func() {
			_, err := c.Ask(t.Context(), Question{Text: "and?"})
			answered <- err
		}()
		synctest.Wait()
		if len(answered) != 0 || len(s.model.Requests()) != 0 {
			t.Error("the question did not wait")
		}
		close(slow)
		if err := <-answered; err != nil || heard != 1 {
			t.Errorf("the question ended with %v; heard of the task %d times", err, heard)
		}
		if _, said := s.texts(t); len(said) != 3 || !strings.Contains(said[1], "task 1 is over") {
			t.Errorf("in the role of the person: %q", said)
		}
	})
}

// slowly records what came of tasks when it may.
type slowly struct{ may chan struct{} }

func (s slowly) Append(e Entry) error {
	if e.Task != nil && e.Task.Came != nil {
		<-s.may
	}
	return nil
}

// A call waits for its task as long as for any other call, and then the model continues.
func TestACallThatTakesTooLongIsHandedBackAsItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		s := play(t, Options{Servers: []Server{w.Server}}, scripted.Call("works__dig", ""), scripted.Say("Later."))
		c, _, end := dig(t, s)
		defer watch(t, c)()
		began := time.Now()
		answer, err := end(nil)
		if took := time.Since(began).Round(time.Minute); err != nil || answer.Text != "Later." || took != 30*time.Minute {
			t.Errorf("after %v: %+v, %v", took, answer, err)
		}
		if notices := s.notices(NoticeTask); len(notices) != 2 || !strings.HasPrefix(notices[1], "continues as task 1: ") {
			t.Errorf("reported %q", notices)
		}
		time.Sleep(10 * time.Minute)
		w.proceed <- "gold"
		time.Sleep(time.Minute)
		if last := c.Entries()[len(c.Entries())-1].Task; last == nil || last.Came == nil || last.Came.LongResult.Text != "gold" || w.calls.Load() != 1 {
			t.Errorf("the last entry is %+v", last)
		}
	})
}
