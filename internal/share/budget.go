package share

import "sync"

// parts is the number of shares into which a total is divided. A caller may have one of them.
const parts = 4

// Reserve returns the part of a total that is reserved for callers without any items: a quarter, or
// 0 if total is less than 4.
func Reserve(total int) int { return total / parts }

// A Budget limits the number of items that all callers together may have. It stores only callers
// that have items. It is safe for concurrent use.
type Budget struct {
	total    int
	each     int // maximum for one key
	unknown  int // maximum for the empty key
	reserved int // number of items that are reserved for keys with at most little items
	little   int

	mu   sync.Mutex
	held *Held
}

// New returns a Budget of total items, of which each key may have its [Share].
func New(total int) *Budget { return Each(total, Share(total)) }

// Each returns a Budget of total items, of which each key may have at most most.
func Each(total, most int) *Budget {
	return &Budget{total: total, each: most, unknown: total, reserved: Reserve(total), little: 1, held: NewHeld()}
}

// Bytes returns a Budget of which each key may have at most most items. At least a third of this
// number is reserved for other keys, each of which may have a quarter of this reserve.
func Bytes(most int) *Budget {
	reserved := most / (parts - 1)
	return &Budget{total: most + reserved, each: most, unknown: most, reserved: reserved, little: Share(reserved), held: NewHeld()}
}

// Share returns the number of items that one caller may have if they cannot be taken back: a
// quarter of total. A total of less than 4 is not divided.
func Share(total int) int {
	if total < parts {
		return total
	}
	return total / parts
}

// Take takes one item and reports whether it succeeded. The caller may keep the item as long as it
// wants. The last quarter of the total is reserved for keys without items. The empty key stands for
// all callers that cannot be distinguished. It may have all items; in a Budget made by [Bytes], it
// may have as many as another key.
func (b *Budget) Take(key string) bool { return b.TakeN(key, 1) }

// TakeN takes n items or none. It allows a key to exceed its maximum only if no items are taken.
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

// Borrow takes one item that can be taken back, and reports whether it succeeded. If no items are
// left, from is the key with the most items. The caller should take an item back from it with
// [Budget.Give], and then call Borrow again. from is empty if it would have no more items than key.
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

// Hold takes one item, even if this exceeds the limits.
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

// Used returns the number of items that are taken.
func (b *Budget) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Used()
}
