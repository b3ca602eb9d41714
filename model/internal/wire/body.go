package wire

import (
	"context"
	"io"
	"time"
)

// body is the body of an answer, bounded in size and silence.
type body struct {
	io.ReadCloser
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	exchange *exchange
	size     int64
}

// Read reads on. The error is ErrIdle or ErrTooLarge where a limit was the cause.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(idleTime)
		b.exchange.read(p[:n])
	}
	b.size += int64(n)
	if b.size > maxAnswer {
		b.cancel(ErrTooLarge)
		return 0, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		err = because(b.ctx, err)
	}
	return n, err
}

// Close ends the exchange and tells its tap.
func (b *body) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	b.exchange.end()
	return err
}
