package share

import "sync"

// parts is into how many parts a total is divided: the share of a caller is one of them.
const parts = 4

// Reserve is how many of a total are for callers who have none yet: a quarter, or none where that is not one.
func Reserve(total int) int { return total / parts }

// A Budget is how many of something all callers together may hold. It remembers callers that hold some, and no others. It is safe
// for concurrent use.
type Budget struct {
	total    int
	each     int // of one key
	unknown  int // of the empty key
	reserved int // for keys that hold little
	little   int

	mu   sync.Mutex
	held *Held
}

// New returns a Budget of so many, of which one key has its [Share].
func New(total int) *Budget { return Each(total, Share(total)) }

// Each returns a Budget of so many, of which one key has some.
func Each(total, most int) *Budget {
	return &Budget{total: total, each: most, unknown: total, reserved: Reserve(total), little: 1, held: NewHeld()}
}

// Bytes returns a Budget of which one key may hold so many, and all others together at least a third more: each of them a quarter of
// that.
func Bytes(most int) *Budget {
	reserved := most / (parts - 1)
	return &Budget{total: most + reserved, each: most, unknown: most, reserved: reserved, little: Share(reserved), held: NewHeld()}
}

// Share is how many one caller may hold of a total, which cannot be taken back from it: a quarter. A total that has no quarters is
// not divided.
func Share(total int) int {
	if total < parts {
		return total
	}
	return total / parts
}

// Take takes one that is held as long as the caller wants, and reports whether it may: the last quarter of the total is for keys that
// hold none. The empty key stands for callers that cannot be distinguished, and has all of it; of bytes, as many as another key.
func (b *Budget) Take(key string) bool { return b.TakeN(key, 1) }

// TakeN takes several, or none. Several that are more than one key may hold are taken while nothing else is held.
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

// Borrow takes one that can be taken back, and reports whether it may. Where all are held, from is the key that holds more than this
// one would: what one of its holders gives back ([Budget.Give]) is this key's. It is empty where there is none.
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

// Hold takes one that cannot be refused.
func (b *Budget) Hold(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Add(key, 1)
}

// Give gives one back that was taken.
func (b *Budget) Give(key string) { b.GiveN(key, 1) }

// GiveN gives several back that were taken.
func (b *Budget) GiveN(key string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Add(key, -n)
}

// Used is how many are held.
func (b *Budget) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Used()
}
