package httpedge

import "sync"

// Responses are made in buffers that are used again, unless they grew very large:
// the garbage collector takes back those that lie idle.
const (
	bufferSize = 2 << 10
	bufferKept = 2 << 20
)

// Buffers are buffers to be used again. The zero value is ready.
type Buffers struct{ pool sync.Pool }

// With calls f with an empty buffer; what f returns is the buffer, grown or not.
func (p *Buffers) With(f func(b []byte) []byte) {
	b := p.get()
	p.put(b, f((*b)[:0]))
}

func (p *Buffers) get() *[]byte {
	if b, _ := p.pool.Get().(*[]byte); b != nil {
		return b
	}
	fresh := make([]byte, 0, bufferSize)
	return &fresh
}

// put keeps a buffer for the next one; grown is what became of it.
func (p *Buffers) put(b *[]byte, grown []byte) {
	if cap(grown) > cap(*b) && cap(grown) <= bufferKept {
		*b = grown
	}
	p.pool.Put(b)
}
