package live

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/traffic"
)

// A stored is the part of a message that the file has and the index does not. In a record all but the Message are a line of JSON, and the
// Message follows as it is.
type stored struct {
	ID        json.RawMessage `json:"id,omitempty"`
	Revision  string          `json:"revision,omitempty"`
	Transport string          `json:"transport,omitempty"`
	Fault     string          `json:"fault,omitempty"`
	Message   json.RawMessage `json:"message,omitempty"`
}

var records = fields.Of[stored]()

// appendRecord appends the record of a message: a line of JSON, so many bytes, and the message as it is.
func appendRecord(dst []byte, e *traffic.Event) (_ []byte, head int) {
	begin := len(dst)
	dst = append(records.Append(dst, &stored{ID: e.ID, Revision: e.Revision, Transport: e.Transport, Fault: e.Fault}, nil), '\n')
	return append(dst, e.Message...), len(dst) - begin
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

// read returns what the file has of message n, which may be forgotten meanwhile.
func (r *Ring) read(n uint64, e *entry) (s stored, kept bool, err error) {
	if e.at < 0 {
		return s, false, nil
	}
	record := make([]byte, int(e.head)+int(e.body))
	_, err = r.file.ReadAt(record, e.at)
	shared, has := r.shared(n)
	if !has {
		return s, false, nil
	}
	if err == nil {
		s, err = decode(record, int(e.head))
	}
	if shared != "" {
		s.Message = json.RawMessage(shared)
	}
	return s, err == nil, err
}

// shared returns the message n where others have it, too, and reports whether message n is there still, so that what was
// read of the file before is its.
func (r *Ring) shared(n uint64) (message string, has bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, t := r.of(n)
	if e == nil {
		return "", false
	}
	return t.shared, true
}
