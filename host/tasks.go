package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
)

// ErrLeft is for the cause with which a context ends whose calls are left: the run that [Conversation.Ask] was given it
// for ends, but the tasks that its calls became go on, and [Conversation.WatchTasks] waits for them, in this process or
// the next. With other causes they are cancelled, but for limits of time.
var ErrLeft = errors.New("the call was left, and goes on as a task of its server")

// errNotRecorded is why a task is cancelled of which the record does not know.
var errNotRecorded = errors.New("the task cannot be recorded")

const maxTasks = 100 // calls of a conversation that are tasks at the same time

// A Task is a call that its server runs as a task, and of which nothing came yet.
type Task struct {
	Number int // in the conversation, from 1
	Server string
	Tool   string
	Agent  string // the sub-agent whose call it was; empty: the conversation's own model
	Began  time.Time
	// Status is what it was doing when it was last looked at, as the protocol has it: working or input_required; or
	// [TaskUnseen].
	Status string
	// Message is what it says of itself.
	Message string
	// Left is whether no call waits for it: what comes of it is reported by itself.
	Left bool
}

// TaskUnseen is the status of a task that was not looked at yet, as its server is not there, not approved, or off.
const TaskUnseen = "not reached"

// A TaskEntry is what happened to a call that became a task of its server. One of Began, Left, Over and Came is set. A
// task of which the record has only that it began is over as soon as it has the result of the call.
type TaskEntry struct {
	Number int        `json:"number"` // in the conversation, from 1
	Began  *TaskBegan `json:"began,omitempty"`
	Left   bool       `json:"left,omitempty"` // no call waits for it any more
	Over   bool       `json:"over,omitempty"` // a sub-agent has its result, and others need the room
	Came   *TaskCame  `json:"came,omitempty"` // the last of it
}

// TaskBegan is what must be known of a task to wait for it again.
type TaskBegan struct {
	Tool   ToolRef `json:"tool"`
	Via    string  `json:"via"`              // the server that is asked about it
	Origin string  `json:"origin,omitempty"` // which tells that one from others of its name
	ID     string  `json:"id"`
	CallID string  `json:"callId"`          // the call of the conversation's own that it belongs to
	Agent  string  `json:"agent,omitempty"` // the sub-agent that made a call within that one
}

// TaskCame is what came of a task that no call waited for.
type TaskCame struct {
	// Message tells the model where it can read what came, which is in Kept.
	Message *model.Message `json:"message"`
	Kept    *Kept          `json:"kept,omitempty"`
	IsError bool           `json:"isError,omitempty"`
}

// A pendingTask is a Task with what is known of it in this process.
type pendingTask struct {
	TaskBegan
	number  int
	began   time.Time
	left    bool
	resumed bool // it began in an earlier process
	over    bool // the call has its result, which is not recorded yet
	watched bool // somebody waits for it outside of a call
	came    *arrival
	status  string
	message string
	leave   context.CancelCauseFunc // of the call that waits; nil: none
}

// Tasks are the calls that run as tasks of their servers, in the order in which they began.
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

// task is one that is pending.
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

// CancelTask asks the server of a task to cancel it; that it did, whoever waits for the task hears. One whose server is
// not among the host's any more is given up. The error says that there is no such task, or what the server said.
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
		return fmt.Errorf("task %d: %s", number, clipped(readable(err.Error()), maxErrorText))
	}
	return nil
}

// LeaveTask ends the call that waits for a task, with [ErrLeft]: the model goes on, and learns what came of the task
// when it is over. The error says that there is no such task, or that no call waits for it.
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

// tasked takes up an entry of the record; the lock is held.
func (c *Conversation) tasked(e *Entry) {
	at := slices.IndexFunc(c.tasks, func(t *pendingTask) bool { return t.number == e.Task.Number })
	switch {
	case e.Task.Began != nil:
		c.tasks = append(c.tasks, &pendingTask{TaskBegan: *e.Task.Began, number: e.Task.Number, began: e.At})
		c.taskNumber = max(c.taskNumber, e.Task.Number)
		c.ranAsTask[e.Task.Began.CallID] = append(c.ranAsTask[e.Task.Began.CallID], e.Task.Number)
	case e.Task.Left && at >= 0:
		c.tasks[at].left = true
	case e.Task.Over && at >= 0:
		id := c.tasks[at].CallID
		c.ranAsTask[id] = slices.DeleteFunc(c.ranAsTask[id], func(n int) bool { return n == e.Task.Number })
		c.tasks = slices.Delete(c.tasks, at, at+1)
	case e.Task.Came != nil:
		if e.Task.Came.Kept != nil {
			for _, uri := range c.kept.put(*e.Task.Came.Kept) {
				c.unload(uri)
			}
		}
		if e.Task.Came.Message != nil {
			c.view.Say(*e.Task.Came.Message)
		}
		if at >= 0 {
			c.tasks = slices.Delete(c.tasks, at, at+1)
		}
	}
}

// outermost is the run that is recorded, and the call of its own model that a call belongs to.
func (c *calling) outermost() (*run, string) {
	r, id := c.run, c.id
	for r.parent() != nil {
		r, id = r.parent(), r.c.within.id
	}
	return r, id
}

// onTask records that a call became a task before anybody waits for it.
func (s *server) onTask(ctx context.Context, _, id string, over bool) {
	c := callFrom(ctx)
	if over || c == nil || c.run == nil || c.tool == nil {
		return
	}
	r, callID := c.outermost()
	t, err := r.c.beginTask(TaskBegan{Tool: c.tool.ref, Via: s.Name, Origin: s.origin(), ID: id, CallID: callID, Agent: c.run.c.agent.Name}, c.leave)
	switch {
	case err != nil:
		c.leave(fmt.Errorf("%w: %w", errNotRecorded, err)) // the next entry ends the run, for the same reason
	case t == nil:
		c.run.notice(NoticeTask, "%s/%s runs as a task, which is lost if junction ends: %d are running already", c.tool.ref.Server, c.tool.ref.Tool, maxTasks)
	default:
		c.task = t
		c.run.tell(Event{Notice: &Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("runs as task %d of its server", t.number)}})
	}
}

// beginTask records a task; it is nil where too many run. Those that are over make room.
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

// onLook keeps what a task is doing.
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
	call.task.status, call.task.message = clipped(readable(status), maxName), clipped(readable(message), maxLogged)
}

// leavesTask reports whether a task goes on though the call that waited for it was given up.
func leavesTask(cause error) bool {
	return errors.Is(cause, ErrLeft) || errors.Is(cause, errTimeLimit) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, tasks.ErrClosed)
}

// returned notes that the call has a result, or that nobody waits for its task any more. It returns what the model gets
// in the latter case.
func (c *calling) returned(ctx context.Context, err error) (got outcome, left bool) {
	t := c.task
	if t == nil {
		return outcome{}, false
	}
	r, _ := c.outermost()
	left = err != nil && !endsTask(err) && (ctx.Err() == nil || leavesTask(context.Cause(ctx)))
	r.c.mu.Lock()
	t.leave, t.over = nil, !left
	r.c.mu.Unlock()
	if !left {
		return outcome{}, false
	}
	if r.c.add(Entry{Task: &TaskEntry{Number: t.number, Left: true}}) == nil { // else the run ends with the next entry
		r.c.watchMore()
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLeft) { // the person knows
		c.run.tell(Event{Notice: &Notice{Kind: NoticeTask, Server: t.Tool.Server, Tool: t.Tool.Tool, Text: fmt.Sprintf("goes on as task %d: %s", t.number, clipped(readable(cmp.Or(cause, err).Error()), maxErrorText))}})
	}
	return said("%s goes on as task %d of its server, and has no result yet. You learn when it is over: do not call it again for that, and go on with what does not need it.", c.tool.sent.Name, t.number), true
}
