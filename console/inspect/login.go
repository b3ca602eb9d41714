package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// loginTime is how long somebody may take to log in.
const loginTime = 5 * time.Minute

// A signing is where a login is.
type signing struct {
	State  string `json:"state"` // begun, open, done or failed
	URL    string `json:"url,omitempty"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// login has the user log in at the server; when that worked, it is connected to again.
func (c *connection) login(r *http.Request) (any, error) {
	var in struct {
		Scopes []string `json:"scopes"`
	}
	if r.ContentLength != 0 {
		if err := decode(r, &in, maxDescription); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	var opened *Opened
	if c.attempt != nil {
		opened = c.attempt.opened
	}
	busy := c.signing
	if opened != nil && opened.Login != nil {
		c.signing = true
	}
	c.mu.Unlock()
	switch {
	case opened == nil || opened.Login == nil:
		return nil, reply.Refuse(http.StatusConflict, "nobody logs in here: the server has no URL, or its headers say who asks")
	case busy:
		return nil, reply.Refuse(http.StatusConflict, "a login is under way; its page is in the events")
	}
	if !c.spawn(func() { c.sign(opened, in.Scopes) }) {
		return nil, reply.Refuse(http.StatusConflict, "the connection ends")
	}
	return reply.Accepted{Body: signing{State: "begun"}}, nil
}

func (c *connection) sign(opened *Opened, scopes []string) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, loginTime, fmt.Errorf("nobody logged in within %v", loginTime))
	defer cancel()
	c.journal.add("login", signing{State: "begun"})
	said, err := opened.Login(ctx, scopes, func(page string) {
		c.journal.add("login", signing{State: "open", URL: page})
	})
	c.mu.Lock()
	c.signing = false
	c.mu.Unlock()
	if err != nil {
		failed := signing{State: "failed", Cause: plaintext.Line(err.Error(), maxDetail), Remedy: "the requests above say which step failed, and why"}
		if known, is := errors.AsType[*FaultError](err); is {
			failed.Remedy = known.Remedy
		}
		c.journal.add("login", failed)
		return
	}
	c.journal.add("login", signing{State: "done", Detail: plaintext.Line(said, maxDetail)})
	c.start()
}
