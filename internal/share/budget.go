package share

import "sync"

// parts is the number of shares of a total: a caller gets one of them.
const parts = 4

// Reserve returns the part of a total for callers that hold none yet: a quarter, or none if total
// is too small.
func Reserve(total int) int { return total / parts }

// A Budget limits the number of items that all callers together may hold. It only stores callers
// that hold some. It is safe for concurrent use.
type Budget struct {
	total    int
	each     int // limit of one key
	unknown  int // limit of the empty key
	reserved int // for keys that hold little
	little   int

	mu   sync.Mutex
	held *Held
}

// New returns a Budget of total items, of which one key gets its [Share].
func New(total int) *Budget { return Each(total, Share(total)) }

// Each returns a Budget of total items, of which one key may hold most.
func Each(total, most int) *Budget {
	return &Budget{total: total, each: most, unknown: total, reserved: Reserve(total), little: 1, held: NewHeld()}
}

// Bytes returns a Budget of which one key may hold most, and all others together at least a third
// more. Each of those gets a quarter of that third.
func Bytes(most int) *Budget {
	reserved := most / (parts - 1)
	return &Budget{total: most + reserved, each: most, unknown: most, reserved: reserved, little: Share(reserved), held: NewHeld()}
}

// Share returns how many items of a total one caller may hold if they cannot be taken back: a
// quarter. A total below four is not divided.
func Share(total int) int {
	if total < parts {
		return total
	}
	return total / parts
}

// Take takes one item for as long as the caller wants, and reports whether it may. The last quarter
// of the total is for keys that hold none. The empty key stands for callers that cannot be
// distinguished, and may hold all items; of bytes, as many as another key.
func (b *Budget) Take(key string) bool { return b.TakeN(key, 1) }

// TakeN takes n items or none. More than one key may hold are taken only while no others are held.
func (b *Budget) TakeN(key string, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	held, used := b.held.Of(key)+n, b.held.Used()+n
	fits := used <= b.total && held <= b.each && (held <= b.little || used <= b.total-b.reserved)
	if key == "" {
		fits = used <= b.total && held <= b.unknown
	}
	if !fits && (b.held.Used() > 0 || n == 1) {
		return false
	}
	b.held.Add(key, n)
	return true
}

// Borrow takes one item that can be taken back, and reports whether it may. If all are held, from
// is the key that holds more than this one would. An item that one of its holders returns
// ([Budget.Give]) is for this key. from is empty if there is no such key.
func (b *Budget) Borrow(key string) (ok bool, from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held.Used() < b.total {
		b.held.Add(key, 1)
		return true, ""
	}
	if from = b.held.Most(); from == key || b.held.Of(from) <= b.held.Of(key)+1 {
		return false, ""
	}
	return false, from
}

// Hold takes one item unconditionally.
func (b *Budget) Hold(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Add(key, 1)
}

// Give returns one item.
func (b *Budget) Give(key string) { b.GiveN(key, 1) }

// GiveN returns n items.
func (b *Budget) GiveN(key string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Add(key, -n)
}

// Used returns the number of held items.
func (b *Budget) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Used()
}
