// Package topics passes hints to the subscribers of topics in this process.
package topics

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed means that no more subscriptions are possible.
var ErrClosed = errors.New("the store is closed")

// Topics are the subscriptions of a store. The zero value has none.
type Topics struct {
	mu     sync.Mutex
	of     map[string]map[*subscription]bool
	closed bool
}

type subscription struct {
	hints chan struct{} // room for one hint
	stop  func() bool   // forgets the context of the subscriber
}

// Subscribe returns a channel of hints about a topic, which is closed when ctx is done or after
// [Topics.Close].
func (t *Topics) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	s := &subscription{hints: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	if t.of == nil {
		t.of = map[string]map[*subscription]bool{}
	}
	if t.of[topic] == nil {
		t.of[topic] = map[*subscription]bool{}
	}
	t.of[topic][s] = true
	s.stop = context.AfterFunc(ctx, func() { t.remove(topic, s) })
	return s.hints, nil
}

// remove ends a subscription.
func (t *Topics) remove(topic string, s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.of[topic][s] {
		return
	}
	delete(t.of[topic], s)
	close(s.hints)
	if len(t.of[topic]) == 0 {
		delete(t.of, topic)
	}
}

// Hint sends a hint to all subscribers of a topic.
func (t *Topics) Hint(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hint(topic)
}

// HintAll sends a hint to all subscribers, as hints may have been lost.
func (t *Topics) HintAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic := range t.of {
		t.hint(topic)
	}
}

// hint sends a hint to the subscribers of a topic that have none waiting. The caller holds the lock.
func (t *Topics) hint(topic string) {
	for s := range t.of[topic] {
		select {
		case s.hints <- struct{}{}:
		default:
		}
	}
}

// Close ends all subscriptions.
func (t *Topics) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, subscriptions := range t.of {
		for s := range subscriptions {
			s.stop()
			close(s.hints)
		}
	}
	t.of = nil
}
