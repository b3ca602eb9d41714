package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/loose"
	"github.com/junction-mcp/junction/mcp"
)

// withdrawTime is the timeout of the notification that cancels a request to the client.
const withdrawTime = 5 * time.Second

// serverRequests holds the requests to a legacy client that wait for a response.
type serverRequests struct {
	mu      sync.Mutex
	own     string // begins the ids, if other replicas have the session, too
	count   int
	waiting map[jsonrpc.ID]waitingRequest
	over    bool // set when no response can arrive any more
}

// A waitingRequest is one request in serverRequests.
type waitingRequest struct {
	asker    mcp.Peer
	response chan jsonrpc.Message // capacity 1, for one response; closed if none can arrive
}

// errInputEnded is the error of a request to a client that closed its side of the connection.
var errInputEnded = errors.New("the client cannot respond, because the input has ended")

// ask sends a request of asker with the function send. It waits for the response, at most for
// Options.AskTime.
func (q *serverRequests) ask(ctx context.Context, s *Session, asker mcp.Peer, send func(context.Context, []byte) error, r mcp.ServerRequest) (json.RawMessage, error) {
	id, response, err := q.register(asker)
	if err != nil {
		return nil, err
	}
	defer q.forget(id)
	ctx, cancel := context.WithTimeoutCause(ctx, s.edge.options.AskTime, fmt.Errorf("the client did not respond to %s within %v", r.Method, s.edge.options.AskTime))
	defer cancel()
	params := s.revision.ServerRequestParams(r.Method, r.Params)
	if params == nil {
		params = json.RawMessage(`{}`) // some clients require it
	}
	if err := send(ctx, jsonrpc.AppendRequest(nil, id, r.Method, params)); err != nil {
		return nil, cannotAsk(r, err)
	}
	select {
	case m, arrived := <-response:
		if !arrived {
			return nil, fmt.Errorf("%s: %w", r.Method, errInputEnded)
		}
		if m.Error != nil {
			return nil, &mcp.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
		}
		return loose.ReadAnswer(ctx, s.edge.log, r.Method, r.Params, m.Result), nil
	case <-ctx.Done():
		cause := context.Cause(ctx)
		w := jsonrpc.NewObject(nil)
		w.ID("requestId", id)
		w.String("reason", cause.Error())
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
		defer cancel()
		_ = send(late, jsonrpc.AppendNotification(nil, notifyCancelled, w.Bytes())) // the client may be gone
		return nil, cause
	}
}

// cannotAsk returns the error of a request that could not be sent to the client.
func cannotAsk(q mcp.ServerRequest, why error) error {
	return fmt.Errorf("%s: the client cannot be asked: %w", q.Method, why)
}

// register adds a request. Behind a gateway, many servers send requests to the client of one
// session. The limit for one asker leaves room for others.
func (q *serverRequests) register(asker mcp.Peer) (jsonrpc.ID, chan jsonrpc.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return "", nil, errInputEnded
	}
	same := 0
	for _, w := range q.waiting {
		if w.asker == asker {
			same++
		}
	}
	if same >= maxServerRequests || len(q.waiting) >= maxSessionRequests {
		return "", nil, errors.New("too many requests of the server wait for the client's response")
	}
	if q.waiting == nil {
		q.waiting = make(map[jsonrpc.ID]waitingRequest)
	}
	q.count++
	id := jsonrpc.StringID(q.own + "junction-" + strconv.Itoa(q.count))
	response := make(chan jsonrpc.Message, 1)
	q.waiting[id] = waitingRequest{asker, response}
	return id, response, nil
}

func (q *serverRequests) forget(id jsonrpc.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// end makes the waiting and all later requests fail.
func (q *serverRequests) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	for _, w := range q.waiting {
		close(w.response)
	}
	clear(q.waiting)
}

// Response passes a client's response to the request of the server that waits for it, if there is
// one.
func (s *Session) Response(m *jsonrpc.Message) bool {
	s.Show(m)
	s.requests.mu.Lock()
	response := s.requests.waiting[m.ID].response
	delete(s.requests.waiting, m.ID)
	s.requests.mu.Unlock()
	if response != nil {
		response <- *m // copied, as the caller reuses m
		return true
	}
	id, _ := jsonrpc.Unquote([]byte(m.ID))
	return strings.HasPrefix(id, s.requests.own)
}
