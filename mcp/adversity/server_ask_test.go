package adversity

import (
	"errors"
	"fmt"
	"regexp"
)

// input is a request to the client about the call.
func (c *call) input() (method, params string) {
	text := fmt.Sprintf("who? asked in %s", c.whose())
	if c.revision < "2025-06-18" {
		return "sampling/createMessage", fmt.Sprintf(`{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`, text)
	}
	return "elicitation/create", fmt.Sprintf(`{"message":%q,"requestedSchema":{"type":"object","properties":{"answer":{"type":"string"}}}}`, text)
}

// answered finds who answered a request of the server.
var answered = regexp.MustCompile(`answered by client \d+`)

// errRound is why ask has no response: the client brings it with its next round.
var errRound = errors.New("the response comes with the next round")

// ask asks the client something and returns ", answered by client N", or that it
// refused. The error says that there is no more to do in this round, or that the
// call is over.
func (c *call) ask() (string, error) {
	if c.revision != modern {
		return c.await(c.request(fmt.Sprintf(`"ask-%d"`, c.asked.Add(1))))
	}
	if response, ok := c.Params.InputResponses["who"]; ok {
		return ", " + answered.FindString(string(response)), nil
	}
	method, params := c.input()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"who":{"method":%q,"params":%s}}}}`, c.ID, method, params))
	return "", errRound
}

// request sends a request to a legacy client and returns its id, which may be in use.
func (c *call) request(id string) (string, chan message) {
	response := make(chan message, 1)
	c.session.mu.Lock()
	c.waiting[id] = response
	c.session.mu.Unlock()
	method, params := c.input()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id, response
}

func (c *call) await(id string, response chan message) (string, error) {
	select {
	case m := <-response:
		if m.Error != nil {
			return ", refused", nil
		}
		return ", " + answered.FindString(string(m.Result)), nil
	case <-c.ctx.Done():
		return "", c.ctx.Err()
	}
}

// withdraw takes a request of the server back.
func (c *call) withdraw(id string) {
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"too late"}}`, id))
}
