package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

// A stored is what a record of the file says of a message, in front of it.
type stored struct {
	PID int `json:"pid"`
	traffic.Event
}

// encode makes the record of a message: a line of JSON, so many bytes, and the message as it is.
func encode(pid int, e *traffic.Event) (record []byte, head int, err error) {
	s := stored{pid, *e}
	s.Message = nil
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(&s); err != nil {
		return nil, 0, err
	}
	head = b.Len()
	b.Write(e.Message)
	return b.Bytes(), head, nil
}

// errOther says that a record is not the one that was looked for.
var errOther = errors.New("the file holds something else")

// decode reads a record.
func decode(record []byte, head int) (s stored, err error) {
	if head > len(record) || head < 1 || record[head-1] != '\n' {
		return s, errOther
	}
	if err := json.Unmarshal(record[:head], &s); err != nil {
		return s, fmt.Errorf("%w: %w", errOther, err)
	}
	if s.Message = record[head:]; len(s.Message) == 0 {
		s.Message = nil
	} else if !json.Valid(s.Message) {
		return s, errOther
	}
	return s, nil
}

// read returns message n, which may be forgotten meanwhile.
func (r *Ring) read(n uint64, e *entry) (s stored, kept bool, err error) {
	if e.at < 0 {
		return s, false, nil
	}
	record := make([]byte, int(e.head)+int(e.body))
	_, err = r.file.ReadAt(record, e.at)
	if !r.has(n) {
		return s, false, nil
	}
	if err == nil {
		s, err = decode(record, int(e.head))
	}
	return s, err == nil, err
}

// has reports whether message n is there still, so that what was read of the file before is its.
func (r *Ring) has(n uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return n >= r.first && n < r.next
}

// failed reports whether a message says that something failed.
func failed(e *traffic.Event) bool {
	switch e.Kind {
	case traffic.Error, traffic.Failure:
		return true
	case traffic.Response:
		return string(jsonrpc.Get(jsonrpc.Get(e.Message, "result"), "isError")) == "true"
	}
	return false
}
