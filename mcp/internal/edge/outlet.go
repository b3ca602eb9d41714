package edge

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/mcp/internal/turn"
)

var errOver = errors.New("the request is over")

// An outlet sends what belongs to one running request: one message at a time,
// and nothing once it is closed. No mutex is held while it sends, so that whoever
// waits for another message can give up.
type outlet struct {
	out    Sender
	line   line
	turn   turn.Turn // to send
	closed bool      // it belongs to whoever has the turn
}

// send sends the message that make returns, if it is not nil. Calls of make are
// ordered like the messages.
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

// notify is send for a notification: once the request is over it is dropped.
func (o *outlet) notify(ctx context.Context, make func() []byte) error {
	if err := o.send(ctx, make); err != errOver {
		return err
	}
	return nil
}

// disconnect ends the connection behind the messages so far, where the transport can
// resume.
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

// close waits for the message that is being sent and lets no other follow.
func (o *outlet) close() {
	o.turn.Acquire(context.Background())
	defer o.turn.Release()
	o.closed = true
}
