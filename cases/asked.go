package cases

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// reply records a request of the server and returns the next reply of the case to requests of its
// kind.
func (c *connection) reply(kind string, r func(answers) *replies, params any) (any, error) {
	c.add(kind, "", params)
	c.mu.Lock()
	defer c.mu.Unlock()
	have, i := r(c.answers), c.replied[kind]
	c.replied[kind]++
	switch {
	case have != nil && have.all:
		i = 0
	case have == nil || i >= len(have.each):
		c.complain(fmt.Sprintf("the server asked (%s), and the case has no answer to it: %s", kind, shown(decoded(params))))
		return nil, errors.New("the case has no answer to this request")
	}
	return c.vars.fill(have.each[i]), nil
}

// complain records a failure of the case, up to a limit. The caller holds c.mu.
func (c *connection) complain(text string) {
	if len(c.unanswered) < maxUnanswered {
		c.unanswered = append(c.unanswered, text)
	}
}

func (c *connection) elicited(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	v, err := c.reply(kindElicit, func(a answers) *replies { return a.elicit }, req)
	if err != nil {
		return nil, err
	}
	result := new(mcp.ElicitResult)
	return result, schema.DecodeLoose(encode(v), result)
}

func (c *connection) sampled(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	v, err := c.reply(kindSample, func(a answers) *replies { return a.sample }, req)
	if err != nil {
		return nil, err
	}
	result := new(mcp.CreateMessageResult)
	if err := schema.DecodeLoose(encode(v), result); err != nil {
		c.mu.Lock()
		c.complain("sample: the answer is not a result of a model: " + err.Error())
		c.mu.Unlock()
		return nil, err
	}
	return result, nil
}

func (c *connection) rootsListed(context.Context) ([]mcp.Root, error) {
	c.add(kindRoots, "", nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	roots := []mcp.Root{}
	for _, v := range c.answers.roots {
		root := plain(c.vars.fill(v))
		if !strings.Contains(root, "://") {
			root = filename.URL(root)
		}
		roots = append(roots, mcp.Root{URI: root})
	}
	return roots, nil
}

// unused returns failures about requests of the server that had no reply, and about replies that
// the server did not request.
func (c *connection) unused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	faults := c.unanswered
	for kind, r := range map[string]*replies{kindElicit: c.answers.elicit, kindSample: c.answers.sample} {
		if r != nil && !r.all && c.replied[kind] < len(r.each) {
			faults = append(faults, fmt.Sprintf("answers: %s has %d, but the server asked for %d", kind, len(r.each), c.replied[kind]))
		}
	}
	return faults
}
