package recording

import (
	"encoding/json"

	"github.com/junction-mcp/junction/mcp"
)

// An Exchange is one request of a client, and what came of it.
type Exchange struct {
	Server, Method string
	Params         json.RawMessage
	// Capabilities names what the client declared that it can be asked for: of "elicitation", "sampling" and "roots".
	Capabilities []string
	// Result and Err are how it ended; both are nil where that is not known, as of what was cancelled.
	Result *mcp.Result
	Err    *mcp.Error
	// Notifications are what the server sent meanwhile, and Asked what it asked.
	Notifications []Message
	Asked         []Message
}

// A Message is a notification, or a request of the server with the client's response.
type Message struct {
	Method string
	Params json.RawMessage
	// Result and Err are the response; nil where there is none.
	Result json.RawMessage
	Err    *mcp.Error
}

// Exchanges are the requests to all servers, in the order in which they began. What was too long to be recorded is
// left out.
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
