package recording

import (
	"bytes"
	"math"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// event adds an event to the call. over reports whether the call has ended. event ignores events
// that it cannot use.
//
// The rounds of a modern client become one sequence of steps. A server repeats a request of one
// round in the next round, where the response arrives; both become one request.
func (c *call) event(l *line, at int) (over bool) {
	pause := max(0, l.MS-c.last)
	c.last = l.MS
	s := step{kind: l.Event, pause: pause, at: l.MS, line: at, method: l.Method, params: l.Params, lost: l.Omitted > 0}
	switch l.Event {
	case eventRound:
		c.round++
		c.open, c.again = nil, nil
		return false
	case eventNotification:
		if l.Method != "" && isObject(l.Params) {
			c.steps, c.group = append(c.steps, s), false
		}
		return false
	case eventServerRequest:
		if l.Method != "" && isObject(l.Params) {
			c.ask(l, s)
		}
		return false
	case eventClientResponse:
		c.respond(l)
		return false
	case eventResult:
		if !isObject(l.Result) || !isObject(l.Meta) {
			return false
		}
		s.result = mcp.Result{Type: l.Type, JSON: l.Result, Meta: l.Meta, TTL: time.Duration(min(max(0, l.TTL), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, Scope: mcp.CacheScope(l.Scope)}
		if s.result.JSON == nil {
			s.result.JSON = []byte(`{}`)
		}
	case eventError:
		s.err = &mcp.Error{Code: mcp.CodeInternalError, Message: "the recording does not have the error"}
		if l.Error != nil {
			s.err = l.Error.error()
		}
	case eventCancelled:
	default: // an event of a newer version of Junction
		return false
	}
	c.steps, c.lastLine = append(c.steps, s), at
	c.asked, c.open, c.again, c.group = nil, nil, nil, false
	return true
}

func (f *fault) error() *mcp.Error {
	return &mcp.Error{Code: f.Code, Message: f.Message, Data: f.Data}
}

// ask adds a request of the server. The request joins the requests of the last step if none of
// these has a response.
func (c *call) ask(l *line, s step) {
	if c.open == nil {
		c.open, c.again = map[int64]*ask{}, map[*ask]bool{}
	}
	if c.round > 0 {
		for _, before := range c.asked {
			if !c.again[before] && before.key == l.Key && before.method == l.Method && bytes.Equal(before.params, l.Params) {
				c.open[l.Ask], c.again[before] = before, true
				return
			}
		}
	}
	if len(c.asked) >= maxAsked {
		return
	}
	fresh := &ask{key: l.Key, method: l.Method, params: l.Params}
	c.open[l.Ask], c.again[fresh] = fresh, true
	c.asked = append(c.asked, fresh)
	if c.group {
		c.steps[len(c.steps)-1].asks = append(c.steps[len(c.steps)-1].asks, fresh)
		return
	}
	s.asks = []*ask{fresh}
	c.steps = append(c.steps, s)
	c.group = true
}

// respond adds the client's response to a request of the server.
func (c *call) respond(l *line) {
	asked := c.open[l.Ask]
	if asked == nil {
		return
	}
	delete(c.open, l.Ask)
	if asked.answered || !isObject(l.Result) {
		return
	}
	asked.answered, asked.result = true, l.Result
	if l.Error != nil {
		asked.err = l.Error.error()
	}
	c.group = false // later requests may depend on the response
}
