package live

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

const maxWrite = 1 << 20 // bytes of messages that are written together, but for a larger one

// An added message is in the index yet to come. Its place is that in the records that are written with it.
type added struct {
	entry
	texts
}

// Add keeps messages of a process, the oldest first. It waits for nobody who reads.
func (r *Ring) Add(pid int, events ...*traffic.Event) {
	r.adding.Lock()
	defer r.adding.Unlock()
	for len(events) > 0 {
		n := 0
		var fault error
		for n < len(events) && (n == 0 || len(r.records)+len(events[n].Message) <= maxWrite) {
			if err := r.prepare(int32(pid), events[n]); err != nil {
				fault = err
			}
			n++
		}
		r.write(fault)
		events = events[n:]
	}
	if cap(r.records) > 2*maxWrite {
		r.records = nil // of a large message
	}
}

// prepare makes the record and the entry of a message. The error says why there is no record.
func (r *Ring) prepare(pid int32, of *traffic.Event) error {
	e := *of
	add := added{entry: entry{at: -1, time: e.Time.UnixNano(), took: int64(e.Took), call: e.Call, pid: pid, size: clamp(e.Size), count: clamp(e.Count), kind: kindOf(e.Kind),
		hop: int8(max(0, slices.Index(hops[:], e.Hop))), toClient: !e.ToServer, failed: of.Failed(), legacy: of.Legacy, headers: e.Kind == traffic.Note && e.Note == "http"}}
	// A few long texts would remove the messages of all others.
	add.texts = texts{client: beginning(e.Client), server: beginning(e.Server), method: beginning(e.Method), name: beginning(e.Name), note: beginning(e.Note)}
	if e.Kind == traffic.Note && e.Note == "policy" {
		effect, _ := jsonrpc.Unquote(jsonrpc.Get(e.Message, "effect"))
		add.effect = int8(max(0, slices.Index(effects, effect)))
	}
	if e.Shared && len(e.Message) <= maxShared {
		add.shared, e.Message = unsafe.String(unsafe.SliceData(e.Message), len(e.Message)), nil // the table clones it
	}
	defer func() { r.pending = append(r.pending, add) }()
	if r.file == nil {
		return nil
	}
	begin := len(r.records)
	var head int
	r.records, head = appendRecord(r.records, &e)
	if size := len(r.records) - begin; int64(size) > r.options.Bytes {
		r.records = r.records[:begin]
		return fmt.Errorf("it has %d bytes", size)
	}
	add.at, add.head, add.body = int64(begin), int32(head), int32(len(e.Message))
	return nil
}

// write writes what was prepared, and puts it into the index. Fault is why some of it has no record.
func (r *Ring) write(fault error) {
	var at int64
	if len(r.records) > 0 {
		r.mu.Lock()
		at = r.reserve(int64(len(r.records)))
		r.mu.Unlock()
		if _, err := r.file.WriteAt(r.records, at); err != nil {
			fault = err
			for i := range r.pending {
				r.pending[i].at = -1
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		if r.fault = nil; fault != nil {
			r.fault = fmt.Errorf("messages are not kept: %w", fault)
		}
	}
	for i := range r.pending {
		one := &r.pending[i]
		if one.at >= 0 {
			one.at += at
		}
		r.append(one)
	}
	if len(r.ended) > 0 {
		r.unend(r.pending[0].pid)
	}
	clear(r.pending)
	r.records, r.pending = r.records[:0], r.pending[:0]
	r.index.Wake()
}
