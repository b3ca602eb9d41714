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

// notifyTaskStatus is what clients of 2025-11-25 know of notifications of tasks.
const notifyTaskStatus = "notifications/tasks/status"

// followPause is between a client's request about a task and its first notification: the response, which nobody here
// sees leave, should come first, as it may be what names the task.
const followPause = 50 * time.Millisecond

const maxFollows = 5 // listen requests for one task on a stream that may fail before they are acknowledged

// A following is what is known of notifications of one task on a stream. The session's lock is held for it.
type following struct {
	settled bool // there is a follower, or there need be none
	failed  int  // listen requests that say nothing of whether the server notifies of it
}

// A follower is the listen request for one task of a session, and its Peer. It ends with the task, or with the stream.
// One that is lost or fails is not made again until the client asks about the task, as it has to in any case.
type follower struct {
	mcp.NoPeer
	session *Session
	stream  *sessionStream
	id      string
	over    context.CancelFunc
	agreed  atomic.Bool
}

// heardOf remembers a task that the client hears of, and notifies it of changes from now on.
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

// followAll notifies of the tasks that run, from the beginning of a stream on. The session's lock is held.
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

// follow makes the listen request for a task, unless there is one, or was one that the server did not agree to, or too
// many failed. The session's lock is held, and a stream is open.
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
	req.Meta, req.Caller, req.Principal, req.Session, req.Peer = s.meta, s, s.principal.Load(), &s.values, f
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

// Notify tells the client what it does not know yet.
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
