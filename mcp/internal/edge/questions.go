package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// questions are the requests that wait for an answer of a legacy client.
type questions struct {
	mu      sync.Mutex
	count   int
	waiting map[jsonrpc.ID]chan jsonrpc.Message
}

// ask sends a question with send and waits for the answer, at most as long as
// the options say.
func (q *questions) ask(ctx context.Context, s *Session, send func(context.Context, []byte) error, question mcp.Question) (json.RawMessage, error) {
	id, answer, err := q.open()
	if err != nil {
		return nil, err
	}
	defer q.forget(id)
	ctx, cancel := context.WithTimeoutCause(ctx, s.edge.options.AskTime, fmt.Errorf("the client did not answer %s within %v", question.Method, s.edge.options.AskTime))
	defer cancel()
	params := s.revision.Question(question.Method, question.Params)
	if params == nil {
		params = json.RawMessage(`{}`) // there are clients that insist on it
	}
	if err := send(ctx, jsonrpc.AppendRequest(nil, id, question.Method, params)); err != nil {
		return nil, fmt.Errorf("%s: the client cannot be asked: %w", question.Method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, &mcp.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
		}
		return m.Result, nil
	case <-ctx.Done():
		cause := context.Cause(ctx)
		cancelled := jsonrpc.AppendNotification(nil, notifyCancelled, fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, id, cause.Error()))
		_ = send(context.WithoutCancel(ctx), cancelled) // a client that is gone needs no telling
		return nil, cause
	}
}

func (q *questions) open() (jsonrpc.ID, chan jsonrpc.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxQuestions {
		return "", nil, errors.New("the client has too many unanswered questions")
	}
	if q.waiting == nil {
		q.waiting = make(map[jsonrpc.ID]chan jsonrpc.Message)
	}
	q.count++
	id := jsonrpc.StringID("junction-" + strconv.Itoa(q.count))
	answer := make(chan jsonrpc.Message, 1)
	q.waiting[id] = answer
	return id, answer, nil
}

func (q *questions) forget(id jsonrpc.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// Answer takes a client's response to a question; one that nobody waits for is ignored.
func (s *Session) Answer(m *jsonrpc.Message) {
	s.questions.mu.Lock()
	answer := s.questions.waiting[m.ID]
	delete(s.questions.waiting, m.ID)
	s.questions.mu.Unlock()
	if answer != nil {
		answer <- *m // the caller uses m again
	}
}
