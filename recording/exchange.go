package recording

import (
	"encoding/json"

	"github.com/junction-mcp/junction/mcp"
)

// An Exchange is one request of a client with its result and the messages in between.
type Exchange struct {
	Server, Method string
	Params         json.RawMessage
	// Capabilities lists which of "elicitation", "sampling" and "roots" the client declared.
	Capabilities []string
	// Result and Err hold the response. Both are nil if there is none, for example because the
	// client cancelled the request.
	Result *mcp.Result
	Err    *mcp.Error
	// Notifications holds the notifications of the server during the request, and Asked its
	// requests.
	Notifications []Message
	Asked         []Message
}

// A Message is a notification of the server, or a request of the server with the client's response.
type Message struct {
	Method string
	Params json.RawMessage
	// Result and Err hold the response. Both are nil without one.
	Result json.RawMessage
	Err    *mcp.Error
}

// Exchanges returns the requests to all servers, in the order of their beginnings. It omits
// requests that were too long to record.
func (r *Recording) Exchanges() []Exchange {
	var all []Exchange
	for _, c := range r.calls {
		if c.omitted {
			continue
		}
		e := Exchange{Server: c.server, Method: c.method, Params: c.params, Capabilities: c.declared}
		for i := range c.steps {
			switch s := &c.steps[i]; {
			case s.kind == eventNotification && !s.lost:
				e.Notifications = append(e.Notifications, Message{Method: s.method, Params: s.params})
			case s.kind == eventResult && !s.lost:
				e.Result = &s.result
			case s.kind == eventError:
				e.Err = s.err
			}
			for _, q := range c.steps[i].asks {
				e.Asked = append(e.Asked, Message{Method: q.method, Params: q.params, Result: q.result, Err: q.err})
			}
		}
		all = append(all, e)
	}
	return all
}
