package follow

// A Ring holds the newest of the items that were added, which are numbered from 1 on, for readers that follow it. It is not safe for
// concurrent use.
type Ring[T any] struct {
	items   []T           // item n at n modulo their number
	First   uint64        // the number of the oldest item
	Next    uint64        // the number of the item that is added next
	changed chan struct{} // closed by Wake; nil while nobody waits
}

// NewRing returns a Ring of at most so many items.
func NewRing[T any](most int) Ring[T] { return Ring[T]{items: make([]T, most), First: 1, Next: 1} }

// At returns item n, which must be one of the Ring's, or be added next.
func (r *Ring[T]) At(n uint64) *T { return &r.items[n%uint64(len(r.items))] }

// Full reports whether an item can be added only after [Ring.Drop].
func (r *Ring[T]) Full() bool { return r.Next-r.First == uint64(len(r.items)) }

// Add adds an item.
func (r *Ring[T]) Add(item T) {
	*r.At(r.Next) = item
	r.Next++
}

// Drop drops the oldest item.
func (r *Ring[T]) Drop() {
	*r.At(r.First) = *new(T)
	r.First++
}

// Wake has those who wait for a change look.
func (r *Ring[T]) Wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Changed returns a channel that the next Wake closes.
func (r *Ring[T]) Changed() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
