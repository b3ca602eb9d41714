package event

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A Kind is the kind of a [Step].
type Kind uint8

// The kinds of steps. Response, Pending, Failure and Cancelled end a call. Failure and Cancelled
// may also end a question.
const (
	Request      Kind = iota + 1 // from the client; it begins a call
	Notification                 // from the server, during the call
	Question                     // a request from the server to the client, during the call
	Answer                       // the client's result for a question
	Response                     // the result of the request
	Pending                      // the result that asks for input; the call continues with the client's next round
	Failure                      // an error instead of a result
	Cancelled                    // like Failure, but the client no longer waits for the call
)

// A Step is one message of a call. It has the same form if client and Handler are in one process
// and no message is sent.
type Step struct {
	Kind Kind
	// ToServer is set if the message goes from the client to the server.
	ToServer bool
	// ID is the id of a question from [Call.NextID], in the question and in the step that ends it.
	// It is 0 in all other steps.
	ID int64
	// Method is the method of the message, or of the request that the message answers.
	Method string
	// Key identifies a question among the questions of its call; see [mcp.ServerRequest].
	Key string
	// Body is the params, the result or the error as JSON, or nil. It must not be changed.
	Body json.RawMessage
	// Request is the request that began the call, as the Tap got it.
	Request *mcp.Request
	// Result is the result in a Response. It must not be changed.
	Result *mcp.Result
	// Err is the error in a Failure or Cancelled.
	Err error
}

// AppendMessage appends the step to dst as a JSON-RPC message with the given id, which is JSON. It
// ignores the id for a notification.
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

// A Sink gets the steps of requests. Its methods must be safe for concurrent use. They must not
// wait, as the goroutines of the requests call them.
type Sink interface {
	// Watching reports whether the Sink wants the steps of a request that begins now. If it returns
	// false, the Tap does nothing else for the request.
	Watching() bool
	// Begin gets a request before it is handled. It returns the context for the Handler, and a Call
	// for the further steps.
	Begin(ctx context.Context, request Step) (context.Context, Call)
}

// A Call gets the steps that follow a request.
type Call interface {
	// NextID returns a new id for the next question of the server.
	NextID() int64
	// Step gets a step before it is passed on, with the context of the server's or client's call.
	Step(ctx context.Context, s Step)
}
