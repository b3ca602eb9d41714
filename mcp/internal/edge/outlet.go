package edge

import (
	"context"
	"errors"
	"sync"

	"github.com/junction-mcp/junction/mcp/internal/turn"
)

var errOver = errors.New("the request is over")

// An outlet sends what belongs to one running request: one message at a time,
// and nothing once it is closed. No mutex is held while it sends, so that whoever
// waits for another message can give up.
type outlet struct {
	out Sender

	mu     sync.Mutex
	turn   turn.Turn // to send; nil before the first message
	closed bool
}

// send sends the message that make returns, if it is not nil. Calls of make are
// ordered like the messages.
func (o *outlet) send(ctx context.Context, make func() []byte) error {
	turn, err := o.acquire(ctx)
	if err != nil {
		return err
	}
	defer turn.Release()
	if message := make(); message != nil {
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
	if turn, err := o.acquire(context.Background()); err == nil {
		defer turn.Release()
		d.Disconnect()
	}
}

// close waits for the message that is being sent and lets no other follow.
func (o *outlet) close() {
	turn, closed := o.state(false)
	if turn == nil || closed {
		return
	}
	turn.Acquire(context.Background())
	defer turn.Release()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// acquire waits for the turn to send, which is free if nothing is being sent.
func (o *outlet) acquire(ctx context.Context) (turn.Turn, error) {
	turn, closed := o.state(true)
	if closed {
		return nil, errOver
	}
	if err := turn.Acquire(ctx); err != nil {
		return nil, err
	}
	if _, closed := o.state(true); closed {
		turn.Release()
		return nil, errOver
	}
	return turn, nil
}

// state returns the turn and whether the outlet is closed. Where no message was
// sent yet it makes the turn, or closes the outlet.
func (o *outlet) state(sending bool) (t turn.Turn, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turn == nil && !o.closed {
		if sending {
			o.turn = turn.New()
		} else {
			o.closed = true
		}
	}
	return o.turn, o.closed
}
