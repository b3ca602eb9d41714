package edge

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/task"
)

// notifyTaskStatus is the method of notifications about tasks in 2025-11-25.
const notifyTaskStatus = "notifications/tasks/status"

// followPause is the pause between a client's request about a task and the first notification. The
// response may contain the task's id and should come first. The edge does not see when the
// transport sends it.
const followPause = 50 * time.Millisecond

const maxFollows = 5 // failed listen requests for one task before an acknowledgement, on one stream

// A following is the state of the notifications about one task on a stream. The session's lock
// guards it.
type following struct {
	settled bool // a follower runs, or none is needed
	failed  int  // listen requests that failed before the server acknowledged one
}

// A follower is the listen request for one task of a session, and its Peer. It ends with the task
// or the stream. If it fails, the next request of the client about the task starts another one.
type follower struct {
	mcp.NoPeer
	session *Session
	stream  *sessionStream
	id      string
	over    context.CancelFunc
	agreed  atomic.Bool
}

// heardOf stores the state of a task that is sent to the client. If the task is running, it also
// starts to follow the task.
func (s *Session) heardOf(id string, lowered json.RawMessage) {
	s.saw(id, lowered)
	if (&knownTask{seen: lowered}).isOver() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil && s.stream.begun {
		s.follow(id)
	}
}

// followAll starts to follow all running tasks, at the start of a stream. The caller holds the
// session's lock.
func (s *Session) followAll() {
	s.tasks.mu.Lock()
	var running []string
	for _, k := range s.tasks.known {
		if !k.isOver() {
			running = append(running, k.id)
		}
	}
	s.tasks.mu.Unlock()
	for _, id := range running {
		s.follow(id)
	}
}

// follow starts the listen request for a task. It does nothing if one runs, the server refused one,
// or too many have failed. The caller holds the session's lock, and a stream must be open.
func (s *Session) follow(id string) {
	st := s.stream
	now := st.tasks[id]
	switch {
	case now != nil && now.settled, now == nil && len(st.tasks) >= maxKnown:
		return
	case st.tasks == nil:
		st.tasks = map[string]*following{}
	}
	if now == nil {
		now = new(following)
		st.tasks[id] = now
	}
	now.settled = true
	f := &follower{session: s, stream: st, id: id}
	st.requests.Go(f.run)
}

func (f *follower) run() {
	ctx, cancel := context.WithCancel(f.stream.ctx)
	defer cancel()
	f.over = cancel
	pause := time.NewTimer(followPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return
	}
	s := f.session
	req := mcp.NewRequest(methodListen, task.ListenParams(f.id))
	req.Meta, req.Caller, req.Principal, req.Session, req.Peer = s.meta, s.client(), s.principal.Load(), &s.values, f
	req.Meta.Capabilities = task.Declare(req.Meta.Capabilities)
	_, err := s.edge.handler.Handle(ctx, req)
	if ctx.Err() == nil {
		s.edge.log.Debug("mcp: the server ended its notifications of a task", "task", f.id, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := f.stream.tasks[f.id]; {
	case f.agreed.Load():
		delete(f.stream.tasks, f.id)
	case ctx.Err() == nil && err != nil && task.Passes(err):
		now.failed++
		now.settled = now.failed >= maxFollows
	}
}

// Notify sends the client changes of the task that it does not know yet.
func (f *follower) Notify(ctx context.Context, method string, params json.RawMessage) error {
	switch method {
	case notifyAcknowledged:
		if !task.Agreed(params, f.id) {
			f.over()
			return nil
		}
		f.agreed.Store(true)
	case task.Notification:
		now, err := task.Parse(params)
		if err != nil || now.ID != f.id {
			return err
		}
		if lowered := revision.LowerTask(params); f.session.saw(f.id, lowered) {
			if err := f.stream.out.Send(ctx, jsonrpc.AppendNotification(nil, notifyTaskStatus, lowered)); err != nil {
				return err
			}
		}
		if now.Status.IsOver() {
			f.over()
		}
	}
	return nil
}
