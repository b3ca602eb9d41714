package host

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A task that is over, with a result that cannot be read, is not taken to go on: it has failed, and the model hears why.
func TestATaskWithAResultThatCannotBeReadEnds(t *testing.T) {
	for name, over := range map[string]string{
		"a result of another form": `5`,
		"a status that is none":    "exploded",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proceed := make(chan string, 1)
				w := anyWorks(t, "dig", proceed)
				var looks atomic.Int32
				inner := w.Handler
				w.Handler = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					r, err := inner.Handle(ctx, req)
					if req.Method == "tasks/get" {
						looks.Add(1)
						r.JSON = []byte(strings.Replace(string(r.JSON), `"content":[5]`, `"content":5`, 1))
						if over == "exploded" {
							r.JSON = []byte(strings.Replace(string(r.JSON), `"status":"completed"`, `"status":"exploded"`, 1))
						}
					}
					return r, err
				})
				s := play(t, Options{Servers: []Server{w}}, scripted.Call("works__dig", ""), scripted.Say("well"), scripted.Say("well"))
				c, _, end := dig(t, s)
				stop := watch(t, c)
				proceed <- strings.Replace(over, "exploded", "7", 1)
				_, _ = end(nil)
				results, _ := s.texts(t)
				before := looks.Load()
				time.Sleep(24 * time.Hour)
				stop()
				if left := c.Tasks(); len(left) != 0 {
					t.Errorf("the model heard %q; a day later, after %d more looks at a task that is over, it is said to be %+v", results, looks.Load()-before, left)
				}
			})
		})
	}
}

// After a restart of chat, one error of the server ("the database is locked") is not taken for what came of the task: the
// result is there a second later.
func TestOneErrorAfterARestartDoesNotLoseTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan string, 1)
		w := anyWorks(t, "dig", proceed)
		var failing atomic.Bool
		inner := w.Handler
		w.Handler = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tasks/get" && failing.Swap(false) {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the database is locked; try again later")
			}
			return inner.Handle(ctx, req)
		})
		first := play(t, Options{Servers: []Server{w}}, scripted.Call("works__dig", ""))
		_, killed, end := dig(t, first)
		entries := killed.read(t)
		_, _ = end(ErrLeft)
		s := play(t, Options{Servers: []Server{w}}, scripted.Say("well"))
		c := s.Conversation(nil, entries...)
		failing.Store(true)
		stop := watch(t, c)
		time.Sleep(5 * time.Second)
		proceed <- `{"type":"text","text":"gold"}`
		time.Sleep(time.Minute)
		stop()
		if last := c.Entries()[len(c.Entries())-1].Task; last == nil || last.Came == nil || last.Came.LongResult.Text != "gold" {
			t.Errorf("the last entry is %+v", last)
		}
		for _, e := range s.eventsOf(func(e Event) bool { return e.Returned != nil }) {
			if e.Returned.IsError {
				t.Errorf("the task is done, and its result is said to be %q", e.Returned.Text)
			}
		}
	})
}

// A server that is there and never says anything of a task has it for a day.
func TestATaskOfWhichNothingCanBeLearnedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := anyWorks(t, "dig", make(chan string))
		inner := w.Handler
		w.Handler = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tasks/get" {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the database is locked")
			}
			return inner.Handle(ctx, req)
		})
		s := play(t, Options{Servers: []Server{w}}, scripted.Call("works__dig", ""), scripted.Say("well"))
		c, _, end := dig(t, s)
		defer watch(t, c)()
		if answer, err := end(nil); err != nil || answer.Text != "well" {
			t.Fatal(answer, err)
		}
		time.Sleep(23 * time.Hour)
		if left := c.Tasks(); len(left) != 1 {
			t.Errorf("after 23 hours the tasks are %+v", left)
		}
		time.Sleep(2 * time.Hour)
		last := c.Entries()[len(c.Entries())-1].Task
		if last == nil || last.Came == nil || !last.Came.IsError || !strings.Contains(last.Came.LongResult.Text, "the database is locked") || len(c.Tasks()) != 0 {
			t.Errorf("the last entry is %+v", last)
		}
	})
}

// At most 100 run at the same time: those that are over do not count, though the call of the conversation's own that they
// belong to is not. Nor are there more after a restart.
func TestTasksThatAreOverDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, Options{}, scripted.Say("well"))
		record := new(saved)
		c := s.Conversation(record)
		for range maxTasks { // one after the other, as those of a sub-agent; see calling.returned
			p, err := c.beginTask(TaskBegan{CallID: "outer", ID: "x"}, nil)
			if err != nil || p == nil {
				t.Fatal(p, err)
			}
			c.mu.Lock()
			p.leave, p.over = nil, true
			c.mu.Unlock()
		}
		p, err := c.beginTask(TaskBegan{CallID: "outer", ID: "y"}, nil)
		if p == nil {
			t.Errorf("%d tasks are running, and another is not recorded (%v)", len(c.Tasks()), err)
		}
		if again := s.Conversation(nil, record.read(t)...).Tasks(); len(again) != maxTasks || again[0].Number != 2 || again[maxTasks-1].Number != maxTasks+1 {
			t.Errorf("after a restart there are %+v", again)
		}
		for range maxTasks - 1 { // which go on
			if p, err := c.beginTask(TaskBegan{CallID: "outer", ID: "z"}, nil); p == nil {
				t.Fatal(err)
			}
		}
		if p, err := c.beginTask(TaskBegan{CallID: "outer", ID: "z"}, nil); p != nil || err != nil || len(c.Tasks()) != maxTasks {
			t.Errorf("with %d that run another is recorded: %+v, %v", len(c.Tasks()), p, err)
		}
	})
}
