package mcp

import (
	"context"
	"errors"
	"fmt"
)

var errNoProtocol = errors.New("a Handler of this process is called without a protocol: use DialWith with stream.Pipe")

// An inProcess connects a Client to a Handler in this process.
type inProcess struct {
	next    Handler
	client  *Client
	refused error // if not nil, the error of every request
}

// Handle implements [Handler]. As with a transport, a request whose context is done does not run,
// and Close ends running requests.
func (p *inProcess) Handle(ctx context.Context, req *Request) (Result, error) {
	switch {
	case p.refused != nil:
		return Result{}, p.refused
	case ctx.Err() != nil:
		return Result{}, p.client.ended(ctx, req, nil)
	case p.client.ctx.Err() != nil:
		return Result{}, p.closed(req)
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.client.ctx, func() { cancel(ErrClosed) })()
	result, err := p.next.Handle(within, req)
	if p.client.ctx.Err() != nil {
		return Result{}, p.closed(req)
	}
	return result, err
}

func (p *inProcess) closed(req *Request) error {
	return fmt.Errorf("server %q: %s: %w", p.client.options.Name, describe(req), ErrClosed)
}
