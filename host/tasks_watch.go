package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
)

const (
	taskPause     = time.Second    // between two looks whether a task's server is there to be asked
	lastTaskPause = time.Minute    // the longest pause before a server that could not be asked is asked again
	maxUnanswered = 24 * time.Hour // for how long nothing may be learned of a task of a server that is there
)

// An arrival is what came of a task, before it is part of the conversation.
type arrival struct {
	result *mcp.CallToolResult
	err    error
}

// WatchTasks waits for the tasks that no call waits for: those that ran when an earlier process ended, and those that
// were left. What comes of each becomes part of the conversation, once, as soon as there is no run, and is reported as
// [Returned]. A task is waited for when its server is there, the one that it was, approved and not switched off. It
// returns when ctx is done; the tasks go on. One caller at a time waits for each task.
func (c *Conversation) WatchTasks(ctx context.Context) {
	done := ctx
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	defer context.AfterFunc(done, func() { leave(ErrLeft) })() // whyever nobody waits any more: nobody cancelled it
	var watching sync.WaitGroup
	defer watching.Wait()
	for {
		for _, t := range c.unwatched() {
			watching.Go(func() {
				a := c.watchTask(ctx, t)
				c.mu.Lock()
				t.watched = false
				c.mu.Unlock()
				switch {
				case a != nil:
					c.arrived(t, a)
				case ctx.Err() != nil:
					c.watchMore() // for whoever waits from now on
				}
			})
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return
		}
	}
}

// unwatched are the tasks that nobody waits for, and now somebody does.
func (c *Conversation) unwatched() (all []*pendingTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tasks {
		if t.left && !t.watched && t.came == nil {
			t.watched = true
			all = append(all, t)
		}
	}
	return all
}

// watchMore says that there are tasks that nobody waits for.
func (c *Conversation) watchMore() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// serverOfTask is the server of a task, or why it is not there. Another one of its name is another one.
func (h *Host) serverOfTask(t *pendingTask) (s *server, why string) {
	s, found := h.serverNamed(t.Via)
	switch {
	case !found:
		return nil, fmt.Sprintf("server %q, whose task it is, is not here", t.Via)
	case s.origin() != t.Origin:
		return nil, fmt.Sprintf("server %q is not the one whose task it is: that one had another command or URL", t.Via)
	}
	return s, ""
}

// watchTask waits for a task; nil where ctx is done, or its server is not here.
func (c *Conversation) watchTask(ctx context.Context, t *pendingTask) *arrival {
	tell := func(format string, args ...any) {
		c.host.notice(Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("task %d: ", t.number) + fmt.Sprintf(format, args...)})
	}
	s, why := c.host.serverOfTask(t)
	if s == nil {
		tell("%s; it is not waited for", why)
		return nil
	}
	ctx = withCall(ctx, &calling{id: t.CallID, server: s, tool: c.toolOfTask(t), task: t, taskOf: c})
	for reported, pause, since := false, taskPause, time.Now(); ; {
		if !s.answers() || !c.host.accepted(s) || c.isOff(s.Name) {
			since = time.Now()
			if !wait(ctx, taskPause) {
				return nil
			}
			continue
		}
		if t.resumed && !reported {
			reported = true
			tell("it is waited for")
		}
		began := time.Now()
		result, err := tasks.Rejoin(ctx, s.client, t.Tool.Tool, t.ID)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil || endsTask(err):
			return &arrival{result: result, err: err}
		}
		if time.Since(began) > lastTaskPause {
			pause, since = taskPause, time.Now()
		}
		if time.Since(since) > maxUnanswered {
			return &arrival{err: fmt.Errorf("for %v nothing could be learned of it, and it is not waited for any more: %w", maxUnanswered, err)}
		}
		c.host.log.Debug("host: a task could not be asked about", "server", s.Name, "task", t.number, "error", err)
		if !wait(ctx, pause) {
			return nil
		}
		pause = min(2*pause, lastTaskPause)
	}
}

// endsTask reports whether nothing else can come of a task than this error.
func endsTask(err error) bool {
	return errors.Is(err, tasks.ErrCancelled) || errors.As(err, new(*mcp.Error)) && !errors.Is(err, tasks.ErrUnanswered)
}

// toolOfTask is the tool as the model can have it now; nil where it cannot.
func (c *Conversation) toolOfTask(t *pendingTask) *tool {
	if found := c.catalogue().find(t.Tool); found != nil && found.server.Name == t.Via {
		return found
	}
	return nil
}

// arrived notes what came of a task, and makes it part of the conversation unless that is in a run, which does so at its end.
func (c *Conversation) arrived(t *pendingTask, a *arrival) {
	c.mu.Lock()
	if t.came == nil {
		t.came = a
	}
	c.mu.Unlock()
	c.takeIn()
}

// takeIn makes what came of tasks part of the conversation, unless a run is going.
func (c *Conversation) takeIn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking != nil {
		c.takeAgain = true // by whoever does it
		return
	}
	select {
	case <-c.busy:
	default:
		return
	}
	c.taking, c.takeAgain = make(chan struct{}), true
	for c.takeAgain {
		c.takeAgain = false
		c.mu.Unlock()
		c.takeArrived()
		c.mu.Lock()
	}
	close(c.taking)
	c.taking = nil
	c.busy <- struct{}{} // of capacity 1, and taken
}

// takeArrived makes what came of tasks part of the conversation; there is no run, or none that said anything yet.
func (c *Conversation) takeArrived() {
	c.mu.Lock()
	var all []*pendingTask
	for _, t := range c.tasks {
		if t.came != nil {
			all = append(all, t)
		}
	}
	c.mu.Unlock()
	for _, t := range all {
		s, _ := c.host.serverOfTask(t)
		if s != nil && (!c.host.accepted(s) || c.isOff(s.Name)) {
			continue // the model has nothing of it now
		}
		if err := c.takeTask(t, s); err != nil {
			c.host.notice(Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("task %d is over, but what came of it is not in the conversation: %v", t.number, err)})
		}
	}
}

// takeTask makes what came of a task part of the conversation. A model has what a server wrote, the names of its tools
// among it, in results of calls only, and not where the person speaks: so the message says where it can be read.
func (c *Conversation) takeTask(t *pendingTask, s *server) error {
	r := &run{c: c, h: c.host, sharing: 1}
	got, how := outcome{isError: true}, "has failed"
	switch {
	case t.came.err == nil:
		got, how = gathered(t.came.result), "is over"
		if got.isError {
			how = "has failed"
		}
	case errors.Is(t.came.err, tasks.ErrCancelled):
		how = "was cancelled before it was over"
	default:
		got.whole = clipped(readable(t.came.err.Error()), maxErrorText)
	}
	came := &TaskCame{IsError: got.isError}
	text := fmt.Sprintf("[Junction, not the person: the call that went on as task %d %s.]", t.number, how)
	got.whole = cmp.Or(got.whole, "(no content)")
	if !errors.Is(t.came.err, tasks.ErrCancelled) {
		came.Kept = &Kept{URI: c.nextKept(), Server: t.Tool.Server, Tool: t.Tool.Tool, Text: clipped(got.whole, maxKeptEach)}
		for _, p := range got.parts {
			came.Kept.Pictures = append(came.Kept.Pictures, *p.Media)
		}
		text = fmt.Sprintf("[Junction, not the person: the call that went on as task %d %s. %s with uri %q has what came of it: what that server says, as any result.]", t.number, how, readName, came.Kept.URI)
	}
	came.Message = &model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: text}}}
	r.readTask(t, s, got.whole)
	if err := c.saveFlow(); err != nil { // whatever happens then, the record says whose text it holds
		return err
	}
	if err := c.add(Entry{Task: &TaskEntry{Number: t.number, Came: came}}); err != nil {
		return err
	}
	first, _ := pageOf(got.whole, 0, r.page(), "")
	reported := Returned{CallID: t.CallID, Task: t.number, Server: t.Tool.Server, Tool: t.Tool.Tool, Duration: time.Since(t.began), IsError: got.isError,
		Text: first.text, Tokens: window.TokensOfParts(got.parts) + model.EstimateTokens(len(first.text)), Bytes: got.bytes + len(got.whole), Media: got.media}
	if came.Kept != nil {
		reported.Kept = came.Kept.URI
	} else {
		reported.Text = "the task " + how
	}
	c.host.tell(Event{Returned: &reported})
	return nil
}

// readTask labels what came of a task as the result of any call. Where the tool is not there any more, or not as it
// was approved, nothing that it says of itself counts.
func (r *run) readTask(t *pendingTask, s *server, text string) {
	if found := r.c.toolOfTask(t); found != nil {
		r.read(context.Background(), found, text) // its call is over
		return
	}
	from, trust := guard.Source{Server: t.Tool.Server, Origin: t.Origin, Tool: t.Tool.Tool}, guard.Trust{}
	if s != nil {
		trust = s.trust()
		if t.Tool.Server != s.Name { // behind a gateway
			from.Origin = s.memberOrigin()
		}
	}
	r.suspect(t.Tool.Server, t.Tool.Tool, text, guard.InResult)
	r.c.decider.Read(from, guard.LabelsOf(trust, guard.Annotations{}), text)
}
