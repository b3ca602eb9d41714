package httpedge

import "sync"

// Answers are made in buffers that are used again, unless they grew large.
const (
	bufferSize = 2 << 10
	bufferKept = 64 << 10
)

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize)
	return &b
}}

// WithBuffer calls f with a buffer; what f returns is the buffer, grown or not.
func WithBuffer(f func(b []byte) []byte) {
	b := buffers.Get().(*[]byte)
	if grown := f((*b)[:0]); cap(grown) > cap(*b) && cap(grown) <= bufferKept {
		*b = grown
	}
	buffers.Put(b)
}
