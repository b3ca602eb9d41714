package edge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

const (
	maxKnown     = 256             // tasks that a session stores
	maxKnownSeen = 1 << 10         // bytes of the stored state of one task
	knownSize    = 128             // additional cost of one task in bytes
	maxTaskPage  = 50              // tasks on a page of tasks/list, if the session responds to it
	maxTaskLooks = 8               // concurrent tasks/get requests for one page
	taskPageTime = 5 * time.Second // timeout of all tasks/get requests for one page
)

// A knownTask is a task that the client of the session began or asked about. Modern revisions have
// no list of tasks. The session lists its own tasks if the Handler has no list, or if the caller
// has no principal.
type knownTask struct {
	number int // in order of appearance
	id     string
	seen   json.RawMessage // state that the client received last, in the session's form
}

func (k *knownTask) size() int { return len(k.id) + len(k.seen) + knownSize }

func (k *knownTask) isOver() bool {
	status, _ := jsonrpc.Unquote(jsonrpc.Get(k.seen, "status"))
	return task.Status(status).IsOver()
}

// saw stores the state of a task that is sent to the client. It reports whether its status or
// message differs from the state sent before. For a task that does not fit into the memory it
// reports true, as a repeated notification does no harm.
func (s *Session) saw(id string, lowered json.RawMessage) (differs bool) {
	k := knownTask{id: id, seen: slices.Clone(remembered(lowered))}
	t := &s.tasks
	t.mu.Lock()
	defer t.mu.Unlock()
	differs = true
	if i := t.index(id); i >= 0 {
		for _, name := range []string{"status", "statusMessage"} {
			if string(jsonrpc.Get(t.known[i].seen, name)) != string(jsonrpc.Get(k.seen, name)) {
				differs = true
				break
			}
			differs = false
		}
		k.number = t.known[i].number
		s.dropTask(i)
	} else {
		t.count++
		k.number = t.count
	}
	for len(t.known) > 0 && len(t.known) >= maxKnown || !s.held.Admit(k.size()) {
		if len(t.known) == 0 {
			return differs
		}
		s.dropTask(max(0, slices.IndexFunc(t.known, func(k knownTask) bool { return k.isOver() })))
	}
	at, _ := slices.BinarySearchFunc(t.known, k, func(a, b knownTask) int { return a.number - b.number })
	t.known = slices.Insert(t.known, at, k)
	return differs
}

// remembered returns the part of a task's state to store in a session.
func remembered(lowered json.RawMessage) json.RawMessage {
	if len(lowered) > maxKnownSeen {
		lowered = jsonrpc.Without(lowered, "statusMessage")
	}
	if len(lowered) > maxKnownSeen { // drop everything but the status: the task is listed only if tasks/get works
		lowered = jsonrpc.With(nil, "status", jsonrpc.Get(lowered, "status"))
	}
	if len(lowered) > maxKnownSeen {
		return nil
	}
	return lowered
}

func (t *legacyTasks) index(id string) int {
	return slices.IndexFunc(t.known, func(k knownTask) bool { return k.id == id })
}

// dropTask removes a task. The caller holds the lock of the tasks.
func (s *Session) dropTask(i int) {
	s.held.Release(s.tasks.known[i].size())
	s.tasks.known = slices.Delete(s.tasks.known, i, i+1)
}

func (s *Session) forgetTask(id string) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	if i := s.tasks.index(id); i >= 0 {
		s.dropTask(i)
	}
}

// before returns a page of the newest tasks with a smaller number, the newest first. It also
// returns the number of older tasks.
func (t *legacyTasks) before(number int) (page []knownTask, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, _ := slices.BinarySearchFunc(t.known, number, func(k knownTask, n int) int { return k.number - n })
	more = max(0, end-maxTaskPage)
	page = slices.Clone(t.known[more:end])
	slices.Reverse(page)
	return page, more
}

// listTasks handles tasks/list. It lists the caller's tasks if the Handler has a list, and
// otherwise the session's tasks.
func (c *sessionCall) listTasks(ctx context.Context) (mcp.Result, error) {
	cursor := jsonrpc.Get(c.req.Params, "cursor")
	tasks := jsonrpc.NewArray(nil)
	if cursor == nil {
		c.session.tasks.appendKept(&tasks)
	}
	next, err := c.handlersTasks(ctx, cursor, &tasks)
	if errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
		next, err = c.knownTasks(ctx, cursor, &tasks)
	}
	if err != nil {
		return mcp.Result{}, err
	}
	w := jsonrpc.NewObject(nil)
	w.Raw("tasks", tasks.Bytes())
	if next != nil {
		w.Raw("nextCursor", next)
	}
	return mcp.Result{JSON: w.Bytes()}, nil
}

// appendKept adds the results of calls for which the Handler made no task.
func (t *legacyTasks) appendKept(tasks *jsonrpc.Writer) {
	t.mu.Lock()
	kept := slices.Clone(t.kept)
	t.mu.Unlock()
	for _, k := range slices.Backward(kept) {
		tasks.Element(k.task())
	}
}

// handlersTasks adds a page of the Handler's own list of tasks.
func (c *sessionCall) handlersTasks(ctx context.Context, cursor json.RawMessage, tasks *jsonrpc.Writer) (next json.RawMessage, err error) {
	params := json.RawMessage(`{}`)
	if cursor != nil {
		params = jsonrpc.With(nil, "cursor", cursor)
	}
	result, err := c.askHandler(ctx, methodTasksList, params)
	if err != nil {
		return nil, err
	}
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	jsonrpc.EachElement(jsonrpc.Get(body, "tasks"), func(raw []byte) bool {
		tasks.Element(revision.LowerTask(raw))
		return true
	})
	return jsonrpc.Get(body, "nextCursor"), nil
}

// knownTasks adds a page of the session's tasks. It requests the state of each task from the
// Handler. If a response does not come in time, it lists the last known state.
func (c *sessionCall) knownTasks(ctx context.Context, cursor json.RawMessage, tasks *jsonrpc.Writer) (next json.RawMessage, err error) {
	s := c.session
	s.tasks.mu.Lock()
	number := s.tasks.count + 1
	s.tasks.mu.Unlock()
	if cursor != nil {
		text, _ := jsonrpc.Unquote(cursor)
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n >= number {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "cursor: expected one that tasks/list returned in this session, got %.40s", cursor)
		}
		number = n
	}
	page, more := s.tasks.before(number)
	ctx, cancel := context.WithTimeout(ctx, taskPageTime)
	defer cancel()
	var looking sync.WaitGroup
	slots := make(chan struct{}, maxTaskLooks)
	for i := range page {
		k := &page[i]
		slots <- struct{}{}
		looking.Go(func() {
			defer func() { <-slots }()
			_, now, err := c.look(ctx, k.id)
			switch {
			case err == nil:
				k.seen = now
			case errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}): // the task ended long ago
				k.seen = nil
			}
		})
	}
	looking.Wait()
	for _, k := range page {
		if jsonrpc.Get(k.seen, "createdAt") != nil {
			tasks.Element(k.seen)
		}
	}
	if more > 0 {
		next = jsonrpc.AppendString(nil, strconv.Itoa(page[len(page)-1].number))
	}
	return next, nil
}
