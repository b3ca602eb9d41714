package edge

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/mcp/internal/turn"
)

var errOver = errors.New("the request is over")

// An outlet sends the messages of one running request, one at a time, until it is closed. It holds
// no mutex while it sends, so that a caller that waits for its turn can give up.
type outlet struct {
	out    Sender
	line   line
	turn   turn.Turn // the right to send
	closed bool      // guarded by turn
}

// send sends the message that make returns, unless it is nil. The calls of make have the order of
// the messages.
func (o *outlet) send(ctx context.Context, make func() []byte) error {
	if err := o.turn.Acquire(ctx); err != nil {
		return err
	}
	defer o.turn.Release()
	if o.closed {
		return errOver
	}
	if message := make(); message != nil {
		o.line.passes(ctx, false, message)
		return o.out.Send(ctx, message)
	}
	return nil
}

// notify is like send, but drops the message once the request is over.
func (o *outlet) notify(ctx context.Context, make func() []byte) error {
	if err := o.send(ctx, make); err != errOver {
		return err
	}
	return nil
}

// disconnect ends the connection after the last sent message, if the transport can resume.
func (o *outlet) disconnect() {
	d, ok := o.out.(interface{ Disconnect() })
	if !ok {
		return
	}
	o.turn.Acquire(context.Background())
	defer o.turn.Release()
	if !o.closed {
		d.Disconnect()
	}
}

// close waits for the message that is being sent, and prevents later ones.
func (o *outlet) close() {
	o.turn.Acquire(context.Background())
	defer o.turn.Release()
	o.closed = true
}
