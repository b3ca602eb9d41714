package postgres

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/topics"
)

const (
	// channel is the channel of NOTIFY that carries the topics of all hints, in hexadecimal digits.
	channel = "junction_hints"
	// listenPause is the time between two attempts to listen.
	listenPause = 500 * time.Millisecond
	// checkPause is the time without hints after which the connection is checked.
	checkPause = 15 * time.Second
)

// Publish implements [state.Signal].
func (s *Store) Publish(ctx context.Context, topic string) error {
	if err := state.Check(topic, nil); err != nil {
		return err
	}
	s.topics.Hint(topic) // PgBouncer may keep hints from coming back
	return fail("publish", false, s.try(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `SELECT pg_notify($1::text, $2::text)`, channel, hex.EncodeToString([]byte(topic)))
		return err
	}))
}

// Subscribe implements [state.Signal]. All subscriptions of a Store share one connection. If it is
// lost, the Store connects again, and then sends all subscribers a hint.
func (s *Store) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	if err := state.Check(topic, nil); err != nil {
		return nil, err
	}
	begun, err := s.listen()
	if err != nil {
		return nil, err
	}
	hints, err := s.topics.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	select {
	case <-begun:
	case <-time.After(callTimeout): // hints come later, and begin with one for all
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return hints, nil
}

// listen starts the goroutine that receives hints, unless it runs. It returns a channel that is
// closed once hints arrive.
func (s *Store) listen() (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, topics.ErrClosed
	}
	if s.begun == nil {
		begun := make(chan struct{})
		s.begun = begun
		s.work.Go(func() {
			once := sync.OnceFunc(func() { close(begun) })
			for s.ctx.Err() == nil {
				s.receive(once)
				select {
				case <-time.After(listenPause):
				case <-s.ctx.Done():
				}
			}
		})
	}
	return s.begun, nil
}

// receive listens and passes on hints until the connection is lost or the Store is closed.
func (s *Store) receive(begun func()) {
	connecting, done := context.WithTimeout(s.ctx, callTimeout)
	defer done()
	connection, err := pgx.ConnectConfig(connecting, s.direct)
	if err != nil {
		return
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(s.ctx), connectTimeout)
		defer done()
		_ = connection.Close(closing) // the server notices otherwise
	}()
	if _, err := connection.Exec(connecting, "LISTEN "+channel); err != nil {
		return
	}
	s.topics.HintAll()
	begun()
	for {
		waiting, done := context.WithTimeout(s.ctx, checkPause)
		n, err := connection.WaitForNotification(waiting)
		quiet := waiting.Err() != nil
		done()
		switch {
		case err == nil:
			if topic, err := hex.DecodeString(n.Payload); err == nil {
				s.topics.Hint(string(topic))
			}
		case s.ctx.Err() != nil || !quiet:
			return
		default:
			checking, done := context.WithTimeout(s.ctx, callTimeout)
			err := connection.Ping(checking)
			done()
			if err != nil {
				return
			}
		}
	}
}
