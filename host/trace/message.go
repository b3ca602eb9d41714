package trace

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Direction says which way a message goes.
type Direction string

// The directions.
const (
	ToServer   Direction = "to server"
	FromServer Direction = "from server"
)

// Kind says what a message is.
type Kind string

// The kinds of messages.
const (
	Request      Kind = "request"
	Response     Kind = "response"
	Notification Kind = "notification"
	Failure      Kind = "error" // a response with an error
)

// Message is a JSON-RPC message between the host and a server.
type Message struct {
	At     time.Time
	Server string
	// ID is the request's id, as JSON; empty for notifications.
	ID string
	// CallID is the model's call that it belongs to, or empty.
	CallID string
	// Method is the method of the request, in a response too.
	Method    string
	Direction Direction
	Kind      Kind
	// Body is the params, the result or the error; nil if there is none.
	Body json.RawMessage
}

// maxJSON is how many bytes of a body are in the text of a message.
const maxJSON = 4 * maxDetail

// JSON is the message as JSON-RPC has it, for reading: a long body is cut.
func (m *Message) JSON() string {
	text := []byte(`{"jsonrpc":"2.0"`)
	if m.ID != "" {
		text = append(append(text, `,"id":`...), m.ID...)
	}
	member := map[Kind]string{Response: "result", Failure: "error"}[m.Kind]
	if member == "" {
		text = jsonrpc.AppendString(append(text, `,"method":`...), m.Method)
		member = "params"
	}
	if len(m.Body) > 0 {
		text = append(append(append(text, `,"`...), member...), `":`...)
		text = append(text, m.Body[:min(len(m.Body), maxJSON)]...)
	}
	return string(append(text, '}'))
}

// Message records a message.
func (t *Trace) Message(m Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wired) < maxOpen {
		t.wired[m.Server] = true
	}
	i := &item{at: m.At, form: message, from: theHost, to: server(m.Server), head: m.Method, call: m.CallID, failed: m.Kind == Failure}
	if m.Direction == FromServer {
		i.from, i.to = i.to, i.from
	}
	switch m.Kind {
	case Response:
		i.head += " result"
	case Failure:
		i.head += " error"
	}
	if len(m.Body) > 0 {
		i.label = string(m.Body[:min(len(m.Body), maxDetail)])
	}
	i.detail = m.JSON()
	call := t.calls[m.CallID]
	if call != nil {
		i.scope = call.scope
	}
	if call != nil && m.Method == "tools/call" {
		// Steps 4 and 5 are these messages: a diagram has one arrow for both.
		i.covered = true
		if m.Kind == Request {
			t.extend(call.called, i.detail)
		} else {
			call.response = detail(i.detail)
		}
	}
	t.add(i)
}

// id returns an identifier for a message that has none.
func (t *Trace) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return strconv.Itoa(t.next)
}

// callOf finds the call that a request to a server carries out, and takes it.
func (t *Trace) callOf(server, tool string, arguments json.RawMessage) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, sum := "", sha256.Sum256([]byte(compact(arguments)))
	for id, c := range t.calls {
		if c.sent || c.server != server || c.tool != tool {
			continue
		}
		same := c.arguments == sum
		if found == "" || same || id < found {
			found = id
		}
		if same {
			break
		}
	}
	if found != "" {
		t.calls[found].sent = true
	}
	return found
}
