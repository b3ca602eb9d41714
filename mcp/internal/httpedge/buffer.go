package httpedge

import "sync"

// Responses are built in reused buffers of bufferSize. Buffers larger than bufferKept are not
// reused. The garbage collector frees unused buffers.
const (
	bufferSize = 2 << 10
	bufferKept = 2 << 20
)

// Buffers is a pool of buffers. The zero value is ready to use.
type Buffers struct{ pool sync.Pool }

// With calls f with an empty buffer. The function f returns that buffer, possibly grown.
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

// put returns a buffer to the pool. The slice grown is the buffer after use.
func (p *Buffers) put(b *[]byte, grown []byte) {
	if cap(grown) > cap(*b) && cap(grown) <= bufferKept {
		*b = grown
	}
	p.pool.Put(b)
}
