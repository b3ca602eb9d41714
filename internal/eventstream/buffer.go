package eventstream

import (
	"bytes"
	"io"
)

const (
	firstBuffer   = 4 << 10  // initial size, sufficient for a stream with little input
	keptBuffer    = 64 << 10 // a larger buffer is released after the event that needed it
	minRead       = 512
	maxEmptyReads = 100
)

// buffer contains the input that was not delivered. bytes[start:pos] are the lines of an incomplete
// event, and bytes[pos:end] is the input that was not examined yet.
type buffer struct {
	bytes           []byte
	start, pos, end int
	lf, cr          mark

	large int // size to allocate for another event as large as the last one that exceeded keptBuffer
}

// pending returns the number of bytes of the incomplete event.
func (b *buffer) pending() int { return b.end - b.start }

// line returns the next line without its line end, and advances past it. It treats CRLF as two line
// ends: the end of the line and of an empty line.
func (b *buffer) line() (line []byte, ok bool) {
	lf := b.lf.find(b.bytes, b.pos, b.end, '\n')
	cr := b.cr.find(b.bytes, b.pos, b.end, '\r')
	end := min(lf, cr)
	if end < 0 {
		end = max(lf, cr)
	}
	if end < 0 {
		return nil, false
	}
	line = b.bytes[b.pos:end]
	b.pos = end + 1
	return line, true
}

// mark remembers where a byte occurs next, so that find searches no part of the buffer twice.
type mark struct {
	at       int // its position, if found
	found    bool
	searched int // the byte does not occur before this position
}

// find returns the index of the first c in buf[pos:end], or -1.
func (m *mark) find(buf []byte, pos, end int, c byte) int {
	if m.found && m.at >= pos {
		return m.at
	}
	from := max(m.searched, pos)
	i := bytes.IndexByte(buf[from:end], c)
	if m.found = i >= 0; !m.found {
		m.searched = end
		return -1
	}
	m.at = from + i
	m.searched = m.at + 1
	return m.at
}

// fill reads from src once and appends the input to the buffer.
func (b *buffer) fill(src io.Reader, maxEvent int) error {
	if len(b.bytes)-b.end < minRead {
		b.makeRoom(maxEvent)
	}
	for range maxEmptyReads {
		n, err := src.Read(b.bytes[b.end:])
		b.end += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom moves the incomplete event to the front of the buffer, or into a larger buffer if the
// event fills most of this one. Large events rarely come alone, so the larger buffer also has room
// for the next one.
func (b *buffer) makeRoom(maxEvent int) {
	size := max(len(b.bytes), firstBuffer)
	if b.pending() > size/4*3 {
		if size *= 2; size < keptBuffer {
			size *= 2
		} else {
			size = max(size, b.large)
		}
		size = min(size, maxEvent+firstBuffer)
	}
	if size == len(b.bytes) {
		b.move(b.bytes)
	} else {
		b.move(make([]byte, size))
	}
}

// move moves the undelivered input to the front of dst, which becomes the buffer. dst may be the
// buffer itself.
func (b *buffer) move(dst []byte) {
	b.end = copy(dst, b.bytes[b.start:b.end])
	b.bytes = dst
	b.pos -= b.start
	for _, m := range []*mark{&b.lf, &b.cr} {
		m.at -= b.start
		m.searched = max(m.searched-b.start, 0)
	}
	b.start = 0
}

// take returns the bytes of the current event between two offsets, and removes the event. The
// caller owns the returned bytes. If a large event fills a third of the buffer or more, take
// returns a part of the buffer instead of a copy.
func (b *buffer) take(from, to int) []byte {
	data := b.bytes[b.start+from : b.start+to : b.start+to]
	large := len(b.bytes) > keptBuffer
	handOver := large && len(data) >= len(b.bytes)/3
	if size := b.pos - b.start; size > keptBuffer {
		b.large = size + size/8 + firstBuffer
	}
	if !handOver {
		data = bytes.Clone(data)
	}
	b.start = b.pos
	if rest := b.pending(); handOver || large && rest < len(b.bytes)/4 {
		b.move(make([]byte, max(firstBuffer, 2*rest)))
	}
	return data
}
