package trace

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/sequence"
)

// A kind says what a message is.
type kind int

const (
	request kind = iota
	response
	notification
	failure // a response with an error
)

// A frame is a JSON-RPC message between the host and a server.
type frame struct {
	at       time.Time
	server   string
	id       string // as JSON; empty for notifications
	call     string // see [host.CallID]
	method   string // of the request, in a response too
	toServer bool
	kind     kind
	body     json.RawMessage // the params, the result or the error; nil if there is none
}

// maxJSON is how many bytes of a body are in the text of a message.
const maxJSON = 4 * maxDetail

// json is the message as JSON-RPC has it, for reading: a long body is cut.
func (m *frame) json() string {
	text := []byte(`{"jsonrpc":"2.0"`)
	if m.id != "" {
		text = append(append(text, `,"id":`...), m.id...)
	}
	member := map[kind]string{response: "result", failure: "error"}[m.kind]
	if member == "" {
		text = jsonrpc.AppendString(append(text, `,"method":`...), m.method)
		member = "params"
	}
	if len(m.body) > 0 {
		text = append(append(append(text, `,"`...), member...), `":`...)
		text = append(text, m.body[:min(len(m.body), maxJSON)]...)
	}
	return string(append(text, '}'))
}

// message records a message.
func (t *Trace) message(m frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wired) < maxOpen {
		t.wired[m.server] = true
	}
	i := &item{at: m.at, form: sequence.Message, from: theHost, to: server(m.server), head: m.method, failed: m.kind == failure}
	if !m.toServer {
		i.from, i.to = i.to, i.from
	}
	switch m.kind {
	case response:
		i.head += " result"
	case failure:
		i.head += " error"
	}
	if len(m.body) > 0 {
		i.label = string(m.body[:min(len(m.body), maxDetail)])
	}
	i.detail = m.json()
	call := t.calls[m.call]
	if call != nil {
		i.scope = call.scope
	}
	if call != nil && m.method == "tools/call" {
		// Steps 4 and 5 are these messages: a diagram has one arrow for both.
		i.covered = true
		if m.kind == request {
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
