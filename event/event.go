package event

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A Kind says what a [Step] is.
type Kind uint8

// The kinds of steps. The last four end a call; Failure and Cancelled also end a question.
const (
	Request      Kind = iota + 1 // of the client: a call begins
	Notification                 // of the server, in the call
	Question                     // a request of the server to the client, in the call
	Answer                       // the client's result of a question
	Response                     // the result of the request
	Pending                      // the call goes on with the client's next round; Body is the result that asks for it
	Failure                      // an error in the place of a result
	Cancelled                    // a Failure whose error nobody waits for any more
)

// A Step is one message of a call, whether one is sent or not: in one process there are none.
type Step struct {
	Kind Kind
	// ToServer is the direction: from the client to the server, or else back.
	ToServer bool
	// ID is the one that [Call.NextID] gave a question, also in the step that ends it; 0 in the others.
	ID int64
	// Method is that of the message, or of the request that it answers.
	Method string
	// Key is the one that a question has among those of its call, see [mcp.ServerRequest].
	Key string
	// Body is the params, the result or the error, as JSON; nil if there are none. It must not be changed.
	Body json.RawMessage
	// Request is the one that the call began with, as it came to the Tap.
	Request *mcp.Request
	// Result is the one of a Response. It must not be changed.
	Result *mcp.Result
	// Err is the error of a Failure and of a Cancelled.
	Err error
}

// AppendMessage appends the step to dst as a message of JSON-RPC with that id, which is JSON. A notification has none.
func (s Step) AppendMessage(dst []byte, id string) []byte {
	switch s.Kind {
	case Request, Question:
		return jsonrpc.AppendRequest(dst, jsonrpc.ID(id), s.Method, s.Body)
	case Notification:
		return jsonrpc.AppendNotification(dst, s.Method, s.Body)
	case Answer, Response, Pending:
		return jsonrpc.AppendResult(dst, jsonrpc.ID(id), s.Body)
	}
	w := jsonrpc.NewMessage(dst, jsonrpc.ID(id))
	w.Raw("error", s.Body)
	return w.Bytes()
}

// A Sink gets the steps of requests. Its methods are safe for concurrent use; the goroutines of the requests call them, so that
// they must not wait.
type Sink interface {
	// Watching reports whether the steps of a request that begins now are wanted. Where they are not, a Tap costs this alone.
	Watching() bool
	// Begin gets a request before it is handled. It returns the context in which that is done, and the Call for the further steps.
	Begin(ctx context.Context, request Step) (context.Context, Call)
}

// A Call gets the steps that follow a request.
type Call interface {
	// NextID returns the id of the question that the server asks next.
	NextID() int64
	// Step gets a step before it is passed on, with the context in which the server or the client made it.
	Step(ctx context.Context, s Step)
}
