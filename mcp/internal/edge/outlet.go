package edge

import (
	"context"
	"errors"
	"sync"
)

var errOver = errors.New("the request is over")

// An outlet sends what belongs to one running request: one message at a time,
// and nothing once it is closed. No mutex is held while it sends, so that whoever
// waits for another message can give up.
type outlet struct {
	out Sender

	mu     sync.Mutex
	turn   chan struct{} // holds a value while a message is sent; nil before the first
	closed bool
}

// send sends the message that make returns, if it is not nil. Calls of make are
// ordered like the messages.
func (o *outlet) send(ctx context.Context, make func() []byte) error {
	turn, closed := o.state(true)
	if closed {
		return errOver
	}
	select {
	case turn <- struct{}{}:
	default: // what need not wait is sent even if ctx is done
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer func() { <-turn }()
	if _, closed := o.state(true); closed {
		return errOver
	}
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

// close waits for the message that is being sent and lets no other follow.
func (o *outlet) close() {
	turn, closed := o.state(false)
	if turn == nil || closed {
		return
	}
	turn <- struct{}{}
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	<-turn
}

// state returns the turn and whether the outlet is closed. Where no message was
// sent yet it makes the turn, or closes the outlet.
func (o *outlet) state(sending bool) (turn chan struct{}, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turn == nil && !o.closed {
		if sending {
			o.turn = make(chan struct{}, 1)
		} else {
			o.closed = true
		}
	}
	return o.turn, o.closed
}
