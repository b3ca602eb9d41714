package streamable

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// The default values of [MemoryEvents].
const (
	defaultMaxEvents       = 1_000
	defaultMaxSessionBytes = 4 << 20
	defaultMaxBytes        = 8 << 20
	defaultEventTimeout    = 5 * time.Minute

	eventOverhead = 96 // approximate bytes of an event without its data
)

// MemoryEvents is an [EventStore] in memory. If a stream has too many events, its oldest ones are
// dropped. If the events of a session take too many bytes, its oldest ones are dropped. If those of
// all sessions do, events of the caller with the most are dropped. The zero value is ready to use.
// The fields must be set before the first use.
type MemoryEvents struct {
	// MaxEvents is the maximum number of events of one stream. The default is 1,000.
	MaxEvents int
	// MaxSessionBytes is the maximum size of all events of one session in bytes. The default is 4
	// MiB.
	MaxSessionBytes int
	// MaxBytes is the maximum size of all events of all sessions in bytes. The default is 8 MiB.
	MaxBytes int
	// Timeout is how long an event is stored. The default is 5 minutes.
	Timeout time.Duration

	mu       sync.Mutex
	bytes    *share.Held // by caller
	sessions map[string]*sessionEvents
	order    list.List             // of *sessionEvents; the session without a new event for longest is first
	of       map[string]*list.List // the same list for each caller
}

// sessionEvents holds the events of one session, the oldest first.
type sessionEvents struct {
	session, caller string
	events          []keptEvent
	bytes           int
	counts          map[uint64]int // number of events by stream
	place, ofCaller *list.Element
}

type keptEvent struct {
	Event
	at time.Time
}

// Append implements [EventStore]. The event counts for the caller in ctx.
func (m *MemoryEvents) Append(ctx context.Context, session string, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setDefaults()
	size := len(e.Data) + eventOverhead
	if size > m.MaxSessionBytes || size > m.MaxBytes {
		return errors.New("the event is larger than a session may keep")
	}
	now := time.Now()
	m.dropOld(now)
	s := m.session(session, share.Of(ctx))
	if s.counts[e.Stream] >= m.MaxEvents {
		m.dropAt(s, slices.IndexFunc(s.events, func(k keptEvent) bool { return k.Stream == e.Stream }))
	}
	for s.bytes+size > m.MaxSessionBytes {
		m.dropAt(s, 0)
	}
	to := s
	for m.bytes.Used()+size > m.MaxBytes {
		from, _ := m.bytes.GivesUp(to.caller, size)
		s := m.of[from].Front().Value.(*sessionEvents)
		if m.dropAt(s, 0); len(s.events) == 0 && s != to {
			m.forget(s)
		}
	}
	e.Data = bytes.Clone(e.Data)
	s.events = append(s.events, keptEvent{e, now})
	s.counts[e.Stream]++
	s.bytes += size
	m.bytes.Add(s.caller, size)
	return nil
}

func (m *MemoryEvents) setDefaults() {
	if m.sessions == nil {
		m.sessions, m.of, m.bytes = make(map[string]*sessionEvents), make(map[string]*list.List), share.NewHeld()
	}
	httpedge.OrDefault(&m.MaxEvents, defaultMaxEvents)
	httpedge.OrDefault(&m.MaxSessionBytes, defaultMaxSessionBytes)
	httpedge.OrDefault(&m.MaxBytes, defaultMaxBytes)
	httpedge.OrDefault(&m.Timeout, defaultEventTimeout)
}

// session returns the events of a caller's session, and marks the session as the last one with a
// new event.
func (m *MemoryEvents) session(session, caller string) *sessionEvents {
	if s := m.sessions[session]; s != nil {
		m.order.MoveToBack(s.place)
		m.of[s.caller].MoveToBack(s.ofCaller)
		return s
	}
	of := m.of[caller]
	if of == nil {
		of = list.New()
		m.of[caller] = of
	}
	s := &sessionEvents{session: session, caller: caller, counts: make(map[uint64]int)}
	s.place, s.ofCaller = m.order.PushBack(s), of.PushBack(s)
	m.sessions[session] = s
	return s
}

// forget removes a session.
func (m *MemoryEvents) forget(s *sessionEvents) {
	m.bytes.Add(s.caller, -s.bytes)
	m.order.Remove(s.place)
	of := m.of[s.caller]
	if of.Remove(s.ofCaller); of.Len() == 0 {
		delete(m.of, s.caller)
	}
	delete(m.sessions, s.session)
}

// dropOld drops the events that are older than Timeout.
func (m *MemoryEvents) dropOld(now time.Time) {
	for m.order.Len() > 0 {
		s := m.order.Front().Value.(*sessionEvents)
		for len(s.events) > 0 && now.Sub(s.events[0].at) > m.Timeout {
			m.dropAt(s, 0)
		}
		if len(s.events) > 0 {
			return
		}
		m.forget(s)
	}
}

func (m *MemoryEvents) dropAt(s *sessionEvents, i int) {
	e := &s.events[i]
	size := len(e.Data) + eventOverhead
	s.bytes -= size
	m.bytes.Add(s.caller, -size)
	if s.counts[e.Stream]--; s.counts[e.Stream] == 0 {
		delete(s.counts, e.Stream)
	}
	if i == 0 {
		*e = keptEvent{}
		s.events = s.events[1:]
		return
	}
	s.events = slices.Delete(s.events, i, i+1)
}

// After implements [EventStore].
func (m *MemoryEvents) After(_ context.Context, session string, stream, number uint64) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		return nil, nil
	}
	var found []Event
	for _, k := range s.events {
		if k.Stream == stream && k.Number > number && time.Since(k.at) <= m.Timeout {
			found = append(found, k.Event)
		}
	}
	return found, nil
}

// Forget implements [EventStore].
func (m *MemoryEvents) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[session]; s != nil {
		m.forget(s)
	}
}

// expire drops old events. The Endpoint calls it regularly.
func (m *MemoryEvents) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setDefaults()
	m.dropOld(time.Now())
}
