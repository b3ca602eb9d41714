package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong is the error for a line that exceeds the limit. Reading can continue after it.
var ErrTooLong = errors.New("message too long")

// readSize is the size of the read buffer. With it, one system call reads many small messages.
const readSize = 64 << 10

// A Reader reads lines. It accepts a byte order mark at the start, CRLF, blank lines, and a last
// line without a line end.
type Reader struct {
	r      *bufio.Reader
	max    int
	begun  bool
	marked bool
}

// Marked reports whether the input began with a byte order mark. It returns true at most once.
func (r *Reader) Marked() bool {
	marked := r.marked
	r.marked = false
	return marked
}

// NewReader returns a reader of lines of at most max bytes.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, readSize), max: max}
}

// Ready reports whether the buffer contains a whole line, so that Next does not wait.
func (r *Reader) Ready() bool {
	n := r.r.Buffered()
	if n == 0 {
		return false
	}
	ahead, _ := r.r.Peek(n)
	return bytes.IndexByte(ahead, '\n') >= 0
}

// Next returns the next line, without its line end, in new memory.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if !r.begun && (err == nil || len(line) > 0) {
			r.begun = true
			line, r.marked = bytes.CutPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(bytes.TrimLeft(line, " \t")) > 0 && (err == nil || err == io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *Reader) line() ([]byte, error) {
	part, err := r.r.ReadSlice('\n')
	if err == nil && len(part)-1 > r.max {
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLong, r.max)
	}
	if err == nil {
		return bytes.Clone(part[:len(part)-1]), nil
	}
	line := bytes.Clone(part)
	for err == bufio.ErrBufferFull {
		if len(line) > r.max {
			return nil, r.skip()
		}
		part, err = r.r.ReadSlice('\n')
		line = append(line, part...)
	}
	if err != nil {
		return line, err
	}
	if len(line)-1 > r.max {
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLong, r.max)
	}
	return line[:len(line)-1], nil
}

// skip reads to the end of a line that is too long.
func (r *Reader) skip() error {
	for {
		switch _, err := r.r.ReadSlice('\n'); err {
		case nil:
			return fmt.Errorf("%w: over %d bytes", ErrTooLong, r.max)
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
}
