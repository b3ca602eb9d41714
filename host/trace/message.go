package trace

import (
	"time"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/internal/sequence"
)

// A frame is a step between the host and a server.
type frame struct {
	event.Step
	at     time.Time
	server string
	call   string // see [host.CallID]
	id     string // as JSON
}

// maxJSON is how many bytes of a body are in the text of a message.
const maxJSON = 4 * maxDetail

// message records a message.
func (t *Trace) message(m frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wired) < maxOpen {
		t.wired[m.server] = true
	}
	i := &item{at: m.at, form: sequence.Message, from: theHost, to: server(m.server), head: m.Method, label: string(m.Body[:min(len(m.Body), maxDetail)])}
	if !m.ToServer {
		i.from, i.to = i.to, i.from
	}
	switch m.Kind {
	case event.Failure, event.Cancelled:
		i.head, i.failed = i.head+" error", true
	case event.Response, event.Pending, event.Answer:
		i.head += " result"
	}
	m.Body = m.Body[:min(len(m.Body), maxJSON)]
	i.detail = string(m.AppendMessage(nil, m.id))
	call := t.calls[m.call]
	if call != nil {
		i.scope = call.scope
	}
	if call != nil && m.Method == "tools/call" {
		// Steps 4 and 5 are these messages: a diagram has one arrow for both.
		i.covered = true
		if m.Kind == event.Request {
			t.extend(call.called, i.detail)
		} else {
			call.response = detail(i.detail)
		}
	}
	t.add(i)
}

// id returns an identifier for a message that has none.
func (t *Trace) id() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return t.next
}
