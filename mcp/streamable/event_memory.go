package streamable

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The defaults of [MemoryEvents].
const (
	defaultMaxEvents       = 1_000
	defaultMaxSessionBytes = 4 << 20
	defaultMaxBytes        = 8 << 20
	defaultEventTimeout    = 5 * time.Minute

	eventOverhead = 96 // what an event costs in addition to its data, about
)

// MemoryEvents is an [EventStore] in memory. Where there are too many events the
// oldest go first. The zero value is ready; set the fields before it is used.
type MemoryEvents struct {
	// MaxEvents is how many events of one stream are kept; default 1,000.
	MaxEvents int
	// MaxSessionBytes is how much one session may take; default 4 MiB.
	MaxSessionBytes int
	// MaxBytes is how much all sessions may take together; default 8 MiB.
	MaxBytes int
	// Timeout is how long an event is kept; default 5 minutes.
	Timeout time.Duration

	mu       sync.Mutex
	bytes    int
	sessions map[string]*list.Element // of *sessionEvents
	order    list.List                // least recently appended to first
}

// sessionEvents are the events of one session, oldest first.
type sessionEvents struct {
	session string
	events  []keptEvent
	bytes   int
	counts  map[uint64]int // by stream
}

type keptEvent struct {
	Event
	at time.Time
}

var errTooLarge = errors.New("the event is larger than a session may keep")

// Append keeps an event.
func (m *MemoryEvents) Append(_ context.Context, session string, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setDefaults()
	size := len(e.Data) + eventOverhead
	if size > m.MaxSessionBytes || size > m.MaxBytes {
		return errTooLarge
	}
	now := time.Now()
	s := m.of(session)
	if s.counts[e.Stream] >= m.MaxEvents {
		m.dropAt(s, slices.IndexFunc(s.events, func(k keptEvent) bool { return k.Stream == e.Stream }))
	}
	e.Data = bytes.Clone(e.Data)
	s.events = append(s.events, keptEvent{e, now})
	s.counts[e.Stream]++
	s.bytes += size
	m.bytes += size
	for s.bytes > m.MaxSessionBytes {
		m.dropAt(s, 0)
	}
	m.makeRoom(now)
	return nil
}

func (m *MemoryEvents) setDefaults() {
	if m.sessions == nil {
		m.sessions = make(map[string]*list.Element)
	}
	orDefault(&m.MaxEvents, defaultMaxEvents)
	orDefault(&m.MaxSessionBytes, defaultMaxSessionBytes)
	orDefault(&m.MaxBytes, defaultMaxBytes)
	orDefault(&m.Timeout, defaultEventTimeout)
}

// of returns the events of a session, as the one appended to last.
func (m *MemoryEvents) of(session string) *sessionEvents {
	if element := m.sessions[session]; element != nil {
		m.order.MoveToBack(element)
		return element.Value.(*sessionEvents)
	}
	s := &sessionEvents{session: session, counts: make(map[uint64]int)}
	m.sessions[session] = m.order.PushBack(s)
	return s
}

// makeRoom drops what is too old, and the oldest while there is too much.
func (m *MemoryEvents) makeRoom(now time.Time) {
	for element := m.order.Front(); element != nil; element = m.order.Front() {
		s := element.Value.(*sessionEvents)
		for len(s.events) > 0 && (m.bytes > m.MaxBytes || now.Sub(s.events[0].at) > m.Timeout) {
			m.dropAt(s, 0)
		}
		if len(s.events) > 0 {
			return
		}
		m.order.Remove(element)
		delete(m.sessions, s.session)
	}
}

func (m *MemoryEvents) dropAt(s *sessionEvents, i int) {
	e := &s.events[i]
	size := len(e.Data) + eventOverhead
	s.bytes -= size
	m.bytes -= size
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

// After returns the events of a stream above a number.
func (m *MemoryEvents) After(_ context.Context, session string, stream, number uint64) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.sessions[session]
	if element == nil {
		return nil, nil
	}
	var found []Event
	for _, k := range element.Value.(*sessionEvents).events {
		if k.Stream == stream && k.Number > number && time.Since(k.at) <= m.Timeout {
			found = append(found, k.Event)
		}
	}
	return found, nil
}

// Forget drops the events of a session.
func (m *MemoryEvents) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.sessions[session]
	if element == nil {
		return
	}
	m.bytes -= element.Value.(*sessionEvents).bytes
	m.order.Remove(element)
	delete(m.sessions, session)
}

// expire drops what is too old; the Endpoint calls it now and then.
func (m *MemoryEvents) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setDefaults()
	m.makeRoom(time.Now())
}
