package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
)

// ErrLeft is a cause for the end of a context that leaves running tasks alone. The run of
// [Conversation.Ask] with that context ends, but the tasks of its calls continue, and
// [Conversation.WatchTasks] waits for them, in this process or the next. Time limits also leave
// tasks alone. Any other cause cancels them.
var ErrLeft = errors.New("the call was detached, and continues as a task of its server")

// errNotRecorded is the reason for cancelling a task that the record does not contain.
var errNotRecorded = errors.New("the task cannot be recorded")

const maxTasks = 100 // concurrent tasks of a conversation

// A Task is a call that its server runs as a task, without a result so far.
type Task struct {
	Number int // number in the conversation, from 1
	Server string
	Tool   string
	Agent  string // sub-agent that made the call; empty: the conversation's own model
	Began  time.Time
	// Status is the last known status in the protocol, working or input_required; or [TaskUnseen].
	Status string
	// Message is the last status message of the task.
	Message string
	// Left reports that no call waits for the task. Its result is reported separately.
	Left bool
}

// TaskUnseen is the status of a task that has not been queried yet, because its server is not
// connected, not approved, or off.
const TaskUnseen = "not reached"

// Tasks returns the calls that run as tasks of their servers, in the order in which they began.
func (c *Conversation) Tasks() []Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Task
	for _, t := range c.tasks {
		if !t.over && t.came == nil {
			all = append(all, Task{Number: t.number, Server: t.Tool.Server, Tool: t.Tool.Tool, Agent: t.Agent, Began: t.began,
				Status: cmp.Or(t.status, TaskUnseen), Message: t.message, Left: t.leave == nil})
		}
	}
	return all
}

// task returns the pending task with a number.
func (c *Conversation) task(number int) (*pendingTask, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tasks {
		if t.number == number && !t.over && t.came == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("no task %d is running", number)
}

// CancelTask asks the server of a task to cancel it. The waiting call or [Conversation.WatchTasks]
// gets the result. A task of a server that the host no longer has is dropped. The error reports
// that the task does not exist, or comes from the server.
func (c *Conversation) CancelTask(ctx context.Context, number int) error {
	t, err := c.task(number)
	if err != nil {
		return err
	}
	s, why := c.host.serverOfTask(t)
	if s == nil {
		c.arrived(t, &arrival{err: errors.New(why + ", so it was given up")})
		return nil
	}
	if err := tasks.Cancel(ctx, s.client, t.ID); err != nil {
		return fmt.Errorf("task %d: %s", number, excerpt.OfError(err))
	}
	return nil
}

// LeaveTask ends the call that waits for a task with [ErrLeft]. The model continues, and gets the
// task's result when it comes. The error reports that the task does not exist, or that no call
// waits for it.
func (c *Conversation) LeaveTask(number int) error {
	t, err := c.task(number)
	if err != nil {
		return err
	}
	c.mu.Lock()
	leave := t.leave
	c.mu.Unlock()
	if leave == nil {
		return fmt.Errorf("no call waits for task %d", number)
	}
	leave(ErrLeft)
	return nil
}

// outermost returns the outermost run, which is recorded, and the call of that run's model to which
// c belongs.
func (c *calling) outermost() (*run, string) {
	r, id := c.run, c.id
	for r.parent() != nil {
		r, id = r.parent(), r.c.within.id
	}
	return r, id
}

// onTask records that a call became a task.
func (s *server) onTask(ctx context.Context, _, id string, over bool) {
	c := callFrom(ctx)
	if over || c == nil || c.run == nil || c.tool == nil {
		return
	}
	r, callID := c.outermost()
	t, err := r.c.beginTask(TaskBegan{Tool: c.tool.ref, Via: s.Name, Origin: s.origin(), ID: id, CallID: callID, Agent: c.run.c.agent.Name}, c.leave)
	switch {
	case err != nil:
		c.leave(fmt.Errorf("%w: %w", errNotRecorded, err)) // the same error will end the run at the next entry
	case t == nil:
		c.run.notice(NoticeTask, "%s/%s runs as a task, which is lost if junction ends: %d tasks are running already", c.tool.ref.Server, c.tool.ref.Tool, maxTasks)
	default:
		c.task = t
		c.run.tell(Event{Notice: &Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("runs as task %d of its server", t.number)}})
	}
}

// beginTask records a task and returns it, or nil if too many run. It drops a finished one if there
// is no space.
func (c *Conversation) beginTask(began TaskBegan, leave context.CancelCauseFunc) (*pendingTask, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	c.mu.Lock()
	number, full, over := c.taskNumber+1, len(c.tasks) >= maxTasks, 0
	if at := slices.IndexFunc(c.tasks, func(t *pendingTask) bool { return t.over }); at >= 0 {
		over = c.tasks[at].number
	}
	c.mu.Unlock()
	switch {
	case full && over == 0:
		return nil, nil
	case full:
		if err := c.addNext(Entry{Task: &TaskEntry{Number: over, Over: true}}); err != nil {
			return nil, err
		}
	}
	if err := c.addNext(Entry{Task: &TaskEntry{Number: number, Began: &began}}); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[len(c.tasks)-1]
	t.leave, t.status = leave, "working"
	return t, nil
}

// onLook records the current status of a task.
func (s *server) onLook(ctx context.Context, _, status, message string) {
	call := callFrom(ctx)
	if call == nil || call.task == nil {
		return
	}
	c := call.taskOf
	if call.run != nil {
		r, _ := call.outermost()
		c = r.c
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call.task.status, call.task.message = excerpt.Clip(excerpt.Clean(status), maxName), excerpt.Clip(excerpt.Clean(message), maxLogged)
}

// leavesTask reports whether a task continues after the context of its call ended with cause.
func leavesTask(cause error) bool {
	return errors.Is(cause, ErrLeft) || errors.Is(cause, errTimeLimit) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, tasks.ErrClosed)
}

// returned records that the call has a result, or that it no longer waits for its task. In the
// latter case left is true, and got is the outcome for the model.
func (c *calling) returned(ctx context.Context, err error) (got outcome.Outcome, left bool) {
	t := c.task
	if t == nil {
		return outcome.Outcome{}, false
	}
	r, _ := c.outermost()
	left = err != nil && !endsTask(err) && (ctx.Err() == nil || leavesTask(context.Cause(ctx)))
	r.c.mu.Lock()
	t.leave, t.over = nil, !left
	r.c.mu.Unlock()
	if !left {
		return outcome.Outcome{}, false
	}
	if r.c.add(Entry{Task: &TaskEntry{Number: t.number, Left: true}}) == nil { // otherwise the next entry fails too, and ends the run
		r.c.watchMore()
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLeft) { // if the cause is ErrLeft, the user knows already
		c.run.tell(Event{Notice: &Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("continues as task %d: %s", t.number, excerpt.Clip(excerpt.Clean(cmp.Or(cause, err).Error()), excerpt.MaxError))}})
	}
	return outcome.Said("%s continues as task %d of its server, and has no result yet. You are notified when it is over. Do not call it again; continue with work that does not need it.", c.tool.sent.Name, t.number), true
}

const (
	taskPause     = time.Second    // pause between checks whether a task's server is usable
	lastTaskPause = time.Minute    // maximum pause before a failed query is repeated
	maxUnanswered = 24 * time.Hour // time after which a task is given up although its server is usable
)

// WatchTasks waits for the tasks that no call waits for: tasks of earlier processes, and those that
// calls left. Each result becomes part of the conversation, once, as soon as no run is active, and
// is reported as [Returned]. WatchTasks only queries servers that are connected, approved, not
// switched off, and the same as before. It returns when ctx is done; the tasks continue. Only one
// caller at a time waits for each task.
func (c *Conversation) WatchTasks(ctx context.Context) {
	done := ctx
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	defer context.AfterFunc(done, func() { leave(ErrLeft) })() // the end of ctx must not cancel tasks, whatever its cause
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
					c.watchMore() // for the next WatchTasks
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

// unwatched returns the tasks that no goroutine waits for, and marks them as watched.
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

// watchMore wakes WatchTasks, because there are tasks that no goroutine waits for.
func (c *Conversation) watchMore() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// serverOfTask returns the server of a task, or the reason why it is missing. A server of the same
// name with another origin does not count.
func (h *Host) serverOfTask(t *pendingTask) (s *server, why string) {
	s, found := h.serverNamed(t.Via)
	switch {
	case !found:
		return nil, fmt.Sprintf("server %q, which runs the task, is not configured here", t.Via)
	case s.origin() != t.Origin:
		return nil, fmt.Sprintf("server %q does not run the task: the server of the task had another command or URL", t.Via)
	}
	return s, ""
}

// watchTask waits for a task. It returns nil if ctx is done or the host does not have the server.
func (c *Conversation) watchTask(ctx context.Context, t *pendingTask) *arrival {
	tell := func(format string, args ...any) {
		c.host.notice(Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("task %d: ", t.number) + fmt.Sprintf(format, args...)})
	}
	s, why := c.host.serverOfTask(t)
	if s == nil {
		tell("%s; junction does not wait for it", why)
		return nil
	}
	ctx = withCall(ctx, &calling{id: t.CallID, server: s, tool: c.toolOfTask(t), task: t, taskOf: c})
	for reported, pause, since := false, taskPause, time.Now(); ; {
		if !s.isReady() || !c.host.accepted(s) || c.isOff(s.Name) {
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
			return &arrival{err: fmt.Errorf("its state could not be read for %v, so junction stops waiting for it: %w", maxUnanswered, err)}
		}
		c.host.log.Debug("host: the status of a task could not be queried", "server", s.Name, "task", t.number, "error", err)
		if !wait(ctx, pause) {
			return nil
		}
		pause = min(2*pause, lastTaskPause)
	}
}

// endsTask reports whether an error is the final result of a task.
func endsTask(err error) bool {
	return errors.Is(err, tasks.ErrCancelled) || errors.As(err, new(*mcp.Error)) && !errors.Is(err, tasks.ErrUnanswered)
}

// toolOfTask returns the tool of a task if the model can use it now, and nil otherwise.
func (c *Conversation) toolOfTask(t *pendingTask) *tool {
	if found := c.catalogue().find(t.Tool); found != nil && found.server.Name == t.Via {
		return found
	}
	return nil
}

// arrived records the result of a task. It adds the result to the conversation if no run is active;
// otherwise the run does so at its end.
func (c *Conversation) arrived(t *pendingTask, a *arrival) {
	c.mu.Lock()
	if t.came == nil {
		t.came = a
	}
	c.mu.Unlock()
	c.takeIn()
}

// takeIn adds the results of tasks to the conversation, unless a run is active.
func (c *Conversation) takeIn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking != nil {
		c.takeAgain = true // the goroutine that is taking continues
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
	c.busy <- struct{}{} // cannot block: the token was taken above
}

// takeArrived adds the results of tasks to the conversation. No run is active, or the run has not
// begun its question.
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
			continue // the model must not get text of this server now
		}
		if err := c.takeTask(t, s); err != nil {
			c.host.notice(Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("task %d is over, but its result is not in the conversation: %v", t.number, err)})
		}
	}
}

// takeTask adds the result of a task to the conversation. A server's text, including names of its
// tools, may only be in results, and not in messages of the user. So the message only tells the
// model where to read the result.
func (c *Conversation) takeTask(t *pendingTask, s *server) error {
	r := &run{c: c, h: c.host, sharing: 1}
	got, how := outcome.Outcome{IsError: true}, "has failed"
	switch {
	case t.came.err == nil:
		got, how = outcome.Of(t.came.result), "is over"
		if got.IsError {
			how = "has failed"
		}
	case errors.Is(t.came.err, tasks.ErrCancelled):
		how = "was cancelled before it was over"
	default:
		got.Whole = excerpt.Clip(excerpt.Clean(t.came.err.Error()), excerpt.MaxError)
	}
	came := &TaskCame{IsError: got.IsError}
	text := fmt.Sprintf("[Junction, not the user: the call that continued as task %d %s.]", t.number, how)
	got.Whole = cmp.Or(got.Whole, "(no content)")
	if !errors.Is(t.came.err, tasks.ErrCancelled) {
		came.LongResult = &LongResult{URI: c.nextKept(), Server: t.Tool.Server, Tool: t.Tool.Tool, Text: excerpt.Clip(got.Whole, maxKeptEach)}
		for _, p := range got.Parts {
			came.LongResult.Pictures = append(came.LongResult.Pictures, *p.Media)
		}
		text = fmt.Sprintf("[Junction, not the user: the call that continued as task %d %s. %s with uri %q returns its result, which is the server's text, as any result is.]", t.number, how, readName, came.LongResult.URI)
	}
	came.Message = &model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: text}}}
	r.readTask(t, s, got.Whole)
	if err := c.saveFlow(); err != nil { // recorded before anything else can fail
		return err
	}
	if err := c.add(Entry{Task: &TaskEntry{Number: t.number, Came: came}}); err != nil {
		return err
	}
	first, _ := excerpt.PageOf(got.Whole, 0, r.page(), "")
	reported := Returned{CallID: t.CallID, Task: t.number, Server: t.Tool.Server, Tool: t.Tool.Tool, Duration: time.Since(t.began), IsError: got.IsError,
		Text: first.Text, Tokens: window.TokensOfParts(got.Parts) + model.EstimateTokens(len(first.Text)), Bytes: got.Bytes + len(got.Whole), Media: got.Media}
	if came.LongResult != nil {
		reported.Kept = came.LongResult.URI
	} else {
		reported.Text = "the task " + how
	}
	c.host.tell(Event{Returned: &reported})
	return nil
}

// readTask labels the result of a task like the result of a call. If the tool is gone or no longer
// approved, its annotations do not count.
func (r *run) readTask(t *pendingTask, s *server, text string) {
	if found := r.c.toolOfTask(t); found != nil {
		r.read(context.Background(), found, text) // the context of the call has ended
		return
	}
	from, trust := guard.Source{Server: t.Tool.Server, Origin: t.Origin, Tool: t.Tool.Tool}, guard.Trust{}
	if s != nil {
		trust = s.trust()
		if t.Tool.Server != s.Name { // the tool belongs to a member of a gateway
			from.Origin = s.memberOrigin()
		}
	}
	r.suspect(t.Tool.Server, t.Tool.Tool, text, guard.InResult)
	r.c.decider.Read(from, guard.LabelsOf(trust, guard.Annotations{}), text)
}
