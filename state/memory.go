package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/state/internal/topics"
)

const (
	// DefaultMaxBytes is the default size limit of a [Memory], for keys and values together.
	DefaultMaxBytes = 64 << 20
	// sweepPause is the time between two removals of expired values.
	sweepPause = time.Minute
	// entryCost is the memory that an entry takes in addition to its key and value, in bytes.
	entryCost = 128
)

// Memory is a [Shared] store in this process.
type Memory struct {
	maxBytes int
	topics   topics.Topics

	mu     sync.Mutex
	values map[string]memoryValue
	leases map[string]memoryLease
	logs   map[string]*memoryLog
	count  uint64 // number of the last version or token
	bytes  int
	held   *share.Held // bytes of values that may be evicted, by owner
	swept  time.Time
}

type memoryValue struct {
	value   []byte
	version uint64
	expires time.Time // zero means never
	owner   string    // owner of a value that may be evicted; empty for other values
}

type memoryLease struct {
	token uint64
	until time.Time
}

// NewMemory returns an empty store for up to maxBytes bytes; 0 means [DefaultMaxBytes].
func NewMemory(maxBytes int) *Memory {
	if maxBytes == 0 {
		maxBytes = DefaultMaxBytes
	}
	return &Memory{maxBytes: maxBytes, values: map[string]memoryValue{}, leases: map[string]memoryLease{}, logs: map[string]*memoryLog{}, held: share.NewHeld(), swept: time.Now()}
}

// Get implements [KV].
func (m *Memory) Get(_ context.Context, key string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.value(key)
	if !ok {
		return Entry{}, ErrNotFound
	}
	return v.entry(key), nil
}

// value returns the value of a key, unless it has expired. The caller holds the lock.
func (m *Memory) value(key string) (memoryValue, bool) {
	v, ok := m.values[key]
	return v, ok && !isOver(v.expires)
}

func (v memoryValue) entry(key string) Entry {
	return Entry{Key: key, Value: slices.Clone(v.value), Version: version(v.version)}
}

func version(n uint64) Version { return Version(strconv.FormatUint(n, 10)) }

// isOver reports whether a time has passed; the zero time never passes.
func isOver(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// Put implements [KV].
func (m *Memory) Put(_ context.Context, key string, value []byte, w Write) (Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(key, value, w)
}

// CompareAndSwap implements [KV].
func (m *Memory) CompareAndSwap(_ context.Context, key string, old Version, value []byte, w Write) (Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := Version("")
	if v, ok := m.value(key); ok {
		now = version(v.version)
	}
	if now != old {
		return "", ErrConflict
	}
	return m.put(key, value, w)
}

// put sets a value. The caller holds the lock.
func (m *Memory) put(key string, value []byte, w Write) (Version, error) {
	if err := Check(key, value); err != nil {
		return "", err
	}
	if err := m.fence(key, w.Hold); err != nil {
		return "", err
	}
	cost := len(key) + len(value) + entryCost
	if before, ok := m.values[key]; ok {
		cost -= len(key) + len(before.value) + entryCost
	}
	if m.bytes+cost > m.maxBytes || time.Since(m.swept) >= sweepPause {
		m.sweep(key)
	}
	if !m.makeRoom(cost, w.Owner, key) {
		return "", fmt.Errorf("%w: a store in memory holds %d bytes", ErrFull, m.maxBytes)
	}
	m.count++
	v := memoryValue{value: slices.Clone(value), version: m.count, owner: w.Owner}
	if w.TTL > 0 {
		v.expires = time.Now().Add(w.TTL)
	}
	m.remove(key)
	m.values[key] = v
	m.hold(key, v, 1)
	return version(v.version), nil
}

// sweep removes expired values and leases. It keeps the value of the key but, which the caller is
// about to replace. The caller holds the lock.
func (m *Memory) sweep(but string) {
	m.swept = time.Now()
	for key, v := range m.values {
		if key != but && isOver(v.expires) {
			m.remove(key)
		}
	}
	for name, l := range m.leases {
		if isOver(l.until) {
			delete(m.leases, name)
		}
	}
	for key, l := range m.logs {
		if key != but && isOver(l.expires) {
			m.removeLog(key)
		}
	}
}

// makeRoom evicts values that have owners until cost more bytes of an owner fit, and reports
// whether they do. It keeps the value of the key but, which the caller is about to replace. The
// caller holds the lock.
func (m *Memory) makeRoom(cost int, owner, but string) bool {
	if m.bytes-m.held.Used()+cost > m.maxBytes {
		return false
	}
	for m.bytes+cost > m.maxBytes {
		from, _ := m.held.GivesUp(owner, cost)
		oldest := ""
		for key, v := range m.values {
			if v.owner == from && key != but && (oldest == "" || v.version < m.values[oldest].version) {
				oldest = key
			}
		}
		log := m.oldestLog(from)
		switch {
		case from == "" || oldest == "" && log == nil:
			return false
		case oldest == "" || log != nil && log.records[0].Position < m.values[oldest].version:
			m.cut(log, 1)
		default:
			m.remove(oldest)
		}
	}
	return true
}

func (m *Memory) remove(key string) {
	if v, ok := m.values[key]; ok {
		m.hold(key, v, -1)
		delete(m.values, key)
	}
}

// hold adds the size of a value to the totals. With a sign of -1 it subtracts the size.
func (m *Memory) hold(key string, v memoryValue, sign int) {
	m.charge(v.owner, sign*(len(key)+len(v.value)+entryCost))
}

// charge adds n bytes to the totals.
func (m *Memory) charge(owner string, n int) {
	m.bytes += n
	if owner != "" {
		m.held.Add(owner, n)
	}
}

// fence returns [ErrLost] if the lease of hold may belong to another caller now, and [ErrGroup] if
// it cannot protect the key. The caller holds the lock.
func (m *Memory) fence(key string, hold Hold) error {
	if err := CheckHold(key, hold); err != nil {
		return err
	}
	if hold != (Hold{}) && m.leases[hold.Name].token != hold.Token {
		return ErrLost
	}
	return nil
}

// Delete implements [KV].
func (m *Memory) Delete(_ context.Context, key string, hold Hold) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fence(key, hold); err != nil {
		return err
	}
	m.remove(key)
	return nil
}

// List implements [KV].
func (m *Memory) List(_ context.Context, prefix, after string, limit int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key, v := range m.values {
		if strings.HasPrefix(key, prefix) && key > after && !isOver(v.expires) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var entries []Entry
	for _, key := range keys[:min(max(limit, 0), len(keys))] {
		entries = append(entries, m.values[key].entry(key))
	}
	return entries, nil
}

// Acquire implements [Lease].
func (m *Memory) Acquire(_ context.Context, name string, ttl time.Duration) (Hold, error) {
	if err := Check(name, nil); err != nil {
		return Hold{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.leases[name]; ok && !isOver(l.until) {
		return Hold{}, ErrHeld
	}
	m.count++
	m.leases[name] = memoryLease{m.count, time.Now().Add(ttl)}
	return Hold{name, m.count}, nil
}

// Renew implements [Lease].
func (m *Memory) Renew(_ context.Context, hold Hold, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.leases[hold.Name]; !ok || l.token != hold.Token || isOver(l.until) {
		return ErrLost
	}
	m.leases[hold.Name] = memoryLease{hold.Token, time.Now().Add(ttl)}
	return nil
}

// Release implements [Lease].
func (m *Memory) Release(_ context.Context, hold Hold) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.leases[hold.Name]; ok && l.token == hold.Token {
		delete(m.leases, hold.Name)
	}
	return nil
}

// Now implements [Clock].
func (m *Memory) Now(context.Context) (time.Time, error) { return time.Now(), nil }
