package state

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"
)

type memoryLog struct {
	records []memoryRecord
	trimmed uint64 // position of the last removed record, or the one before the first record
	expires time.Time
	owner   string
	bytes   int // of everything here
}

type memoryRecord struct {
	Record
	at time.Time
}

// log returns the log of a key, unless its time is over. The caller holds the lock.
func (m *Memory) log(key string) *memoryLog {
	l := m.logs[key]
	if l != nil && isOver(l.expires) {
		m.removeLog(key)
		return nil
	}
	return l
}

// Append implements [Log].
func (m *Memory) Append(_ context.Context, key string, value []byte, w Write) (uint64, error) {
	if err := Check(key, value); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fence(key, w.Hold); err != nil {
		return 0, err
	}
	cost := len(value) + entryCost
	if m.log(key) == nil {
		cost += len(key) + entryCost
	}
	if m.bytes+cost > m.maxBytes || time.Since(m.swept) >= sweepPause {
		m.sweep("")
	}
	if !m.makeRoom(cost, w.Owner, "") {
		return 0, fmt.Errorf("%w: a store in memory holds %d bytes", ErrFull, m.maxBytes)
	}
	m.count++
	l := m.logs[key]
	if l == nil {
		l = &memoryLog{trimmed: m.count - 1}
		m.logs[key] = l
	}
	m.charge(l.owner, -l.bytes)
	l.records = append(l.records, memoryRecord{Record{m.count, slices.Clone(value)}, time.Now()})
	l.bytes += cost
	l.expires, l.owner = time.Time{}, w.Owner
	if w.TTL > 0 {
		l.expires = time.Now().Add(w.TTL)
	}
	m.charge(l.owner, l.bytes)
	return m.count, nil
}

// Read implements [Log].
func (m *Memory) Read(_ context.Context, key string, after uint64, limit int) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.log(key)
	switch {
	case l == nil && after == 0:
		return nil, nil
	case l == nil || after != 0 && after < l.trimmed:
		return nil, ErrTrimmed
	}
	var records []Record
	size := 0
	for _, r := range l.records[sort.Search(len(l.records), func(i int) bool { return l.records[i].Position > after }):] {
		if size += len(r.Value); len(records) >= limit || size > MaxRead && len(records) > 0 {
			break
		}
		records = append(records, Record{r.Position, slices.Clone(r.Value)})
	}
	return records, nil
}

// Trim implements [Log].
func (m *Memory) Trim(_ context.Context, key string, keep Keep, hold Hold) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fence(key, hold); err != nil {
		return err
	}
	l := m.log(key)
	switch {
	case l == nil:
		return nil
	case keep.Count < 0:
		m.removeLog(key)
		return nil
	}
	stay, size, now := 0, 0, time.Now()
	for _, r := range slices.Backward(l.records) {
		size += len(r.Value)
		if keep.Count > 0 && stay == keep.Count || keep.Bytes > 0 && size > keep.Bytes || keep.Age > 0 && now.Sub(r.at) >= keep.Age {
			break
		}
		stay++
	}
	m.cut(l, len(l.records)-stay)
	return nil
}

// cut removes the n oldest records of a log. The caller holds the lock.
func (m *Memory) cut(l *memoryLog, n int) {
	if n == 0 {
		return
	}
	freed := 0
	for _, r := range l.records[:n] {
		freed += len(r.Value) + entryCost
	}
	l.trimmed = l.records[n-1].Position
	l.records = slices.Delete(l.records, 0, n)
	l.bytes -= freed
	m.charge(l.owner, -freed)
}

// removeLog removes a log. The caller holds the lock.
func (m *Memory) removeLog(key string) {
	m.charge(m.logs[key].owner, -m.logs[key].bytes)
	delete(m.logs, key)
}

// oldestLog returns the log of an owner that has the oldest record, or nil. The caller holds the
// lock.
func (m *Memory) oldestLog(owner string) (oldest *memoryLog) {
	for _, l := range m.logs {
		if l.owner == owner && len(l.records) > 0 && (oldest == nil || l.records[0].Position < oldest.records[0].Position) {
			oldest = l
		}
	}
	return oldest
}

// Publish implements [Signal].
func (m *Memory) Publish(_ context.Context, topic string) error {
	if err := Check(topic, nil); err != nil {
		return err
	}
	m.topics.Hint(topic)
	return nil
}

// Subscribe implements [Signal].
func (m *Memory) Subscribe(ctx context.Context, topic string) (<-chan struct{}, error) {
	if err := Check(topic, nil); err != nil {
		return nil, err
	}
	return m.topics.Subscribe(ctx, topic)
}

// Close ends all subscriptions. The values stay.
func (m *Memory) Close() error {
	m.topics.Close()
	return nil
}
