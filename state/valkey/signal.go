package valkey

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/topics"
)

// listenPause is the time between two attempts to listen.
const listenPause = 500 * time.Millisecond

// channel returns the name of the channel that carries the topics of all hints.
func (s *Store) channel() string { return s.prefix + "/hints" }

// Publish implements [state.Signal].
func (s *Store) Publish(ctx context.Context, topic string) error {
	if err := state.Check(topic, nil); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	return fail("publish", false, s.client.Do(ctx, s.client.B().Publish().Channel(s.channel()).Message(topic).Build()).Error())
}

// Subscribe implements [state.Signal]. All subscriptions of a Store share one connection. If it is
// lost, the Store connects again, and then sends all subscribers a hint.
func (s *Store) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	if err := state.Check(topic, nil); err != nil {
		return nil, err
	}
	l, err := s.listen(ctx)
	if err != nil {
		return nil, err
	}
	hints, err := s.topics.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.begun:
	case <-time.After(callTimeout): // hints come later, and begin with one for all
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return hints, nil
}

// A listener receives hints in a goroutine.
type listener struct {
	begun chan struct{} // closed once it has subscribed
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func (l *listener) close() {
	l.stop()
	l.done.Wait()
}

// listen returns the listener, and starts it if necessary.
func (s *Store) listen(ctx context.Context) (*listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, topics.ErrClosed
	}
	if s.listening == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		l := &listener{begun: make(chan struct{}), stop: stop}
		l.done.Go(func() {
			var begun sync.Once
			for ctx.Err() == nil {
				s.receive(ctx, func() { begun.Do(func() { close(l.begun) }) })
				select {
				case <-time.After(listenPause):
				case <-ctx.Done():
				}
			}
		})
		s.listening = l
	}
	return s.listening, nil
}

// receive subscribes and passes on hints until the connection is lost or ctx is done.
func (s *Store) receive(ctx context.Context, begun func()) {
	connection, release := s.client.Dedicate()
	defer release()
	lost := connection.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { s.topics.Hint(m.Message) },
	})
	subscribing, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	if connection.Do(subscribing, connection.B().Subscribe().Channel(s.channel()).Build()).Error() != nil {
		return
	}
	s.topics.HintAll()
	begun()
	select {
	case <-lost:
	case <-ctx.Done():
	}
}
