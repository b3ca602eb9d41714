package inspect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const (
	maxListened = 100     // resources that a connection listens for
	maxURI      = 8 << 10 // bytes of the URI of one
)

// A listening is what a connection listens for.
type listening struct {
	Filter mcp.SubscriptionFilter `json:"filter"`
	// Agreed is what of it the server offers; nil until it says so.
	Agreed *mcp.SubscriptionFilter `json:"agreed,omitempty"`

	stop context.CancelCauseFunc
	over chan struct{}
}

// subscribe sets what is listened for; an empty filter ends it.
func (c *connection) subscribe(r *http.Request) (any, error) {
	var filter mcp.SubscriptionFilter
	if err := decode(r, &filter, maxBody); err != nil {
		return nil, err
	}
	if len(filter.ResourceSubscriptions) > maxListened {
		return nil, reply.Refuse(http.StatusBadRequest, "at most %d resources can be listened for", maxListened)
	}
	for _, uri := range filter.ResourceSubscriptions {
		if len(uri) > maxURI {
			return nil, reply.Refuse(http.StatusBadRequest, "a URI has at most %d bytes", maxURI)
		}
	}
	client, a, err := c.connectedTo()
	if err != nil {
		return nil, err
	}
	empty := len(filter.Lists()) == 0 && len(filter.ResourceSubscriptions) == 0
	ctx, stop := context.WithCancelCause(c.ctx)
	next := &listening{Filter: filter, stop: stop, over: make(chan struct{})}
	c.mu.Lock()
	before := c.listened
	if c.listened = next; empty {
		c.listened = nil
	}
	c.mu.Unlock()
	if before != nil {
		before.stop(errors.New("another filter took its place"))
		<-before.over
	}
	if empty || !c.spawn(func() { c.listen(ctx, next, client, a) }) {
		stop(nil)
		close(next.over)
	}
	return reply.Accepted{Body: map[string]any{"filter": filter}}, nil
}

// listen listens until the filter is replaced or the connection ends.
func (c *connection) listen(ctx context.Context, l *listening, client *mcp.Client, a *attempt) {
	defer close(l.over)
	defer l.stop(nil)
	err := client.ListenWith(ctx, l.Filter, func(mcp.Notification) {}, func(offered mcp.SubscriptionFilter) {
		c.mu.Lock()
		l.Agreed = &offered
		c.mu.Unlock()
		c.journal.add("subscription", map[string]any{"filter": l.Filter, "agreed": offered})
	})
	c.mu.Lock()
	if c.listened == l {
		c.listened = nil
	}
	c.mu.Unlock()
	over := map[string]any{"filter": l.Filter, "ended": "it was ended here"}
	switch {
	case ctx.Err() == nil && err == nil:
		over["ended"] = "the server ended it"
	case ctx.Err() == nil:
		over["ended"] = plaintext.Line(err.Error(), maxDetail)
	}
	c.journal.add("subscription", over)
}

// setLevel sets from which level on log messages are wanted.
func (c *connection) setLevel(r *http.Request) (any, error) {
	var in struct {
		Level mcp.LogLevel `json:"level"`
	}
	if err := decode(r, &in, maxDescription); err != nil {
		return nil, err
	}
	if in.Level == "none" {
		in.Level = ""
	}
	if in.Level != "" && in.Level.Severity() == 0 {
		return nil, reply.Refuse(http.StatusBadRequest, `"level": expected %s`, strings.Join([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency or none"}, ", "))
	}
	c.mu.Lock()
	c.level = in.Level
	c.mu.Unlock()
	client, _, err := c.connectedTo()
	if err != nil || in.Level == "" || client.Capabilities().Logging == nil || !slices.Contains(revision.Legacy(), client.Revision()) {
		return map[string]any{"level": in.Level}, nil // modern servers hear it with each request
	}
	ctx, cancel := context.WithTimeout(r.Context(), defaultTimeout)
	defer cancel()
	w := jsonrpc.NewObject(nil)
	w.String("level", string(in.Level))
	if _, err := client.Do(ctx, "logging/setLevel", w.Bytes()); err != nil {
		return nil, reply.Refuse(http.StatusBadGateway, "%v", err)
	}
	return map[string]any{"level": in.Level}, nil
}

// A taskEvent is what a call became that is waited for.
type taskEvent struct {
	Request uint64 `json:"request,omitempty"`
	Task    string `json:"task"`
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Over    bool   `json:"over,omitempty"`
}

func (c *connection) taskBegan(ctx context.Context, _, id string, over bool) {
	c.journal.add("task", taskEvent{Request: requestOf(ctx), Task: id, Over: over})
}

func (c *connection) taskLooked(ctx context.Context, id, status, message string) {
	c.journal.add("task", taskEvent{Request: requestOf(ctx), Task: id, Status: status, Message: plaintext.Line(message, maxDetail)})
}
