package live

import (
	"fmt"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

const maxWrite = 1 << 20 // bytes of messages that are written together, but for a larger one

// An added message is in the index yet to come.
type added struct {
	entry
	words  [5]string // client, server, method, name, note
	shared []byte    // the message, where others have it, too
	size   int64     // of its record; 0 if there is none
}

// Add keeps messages of a process, the oldest first. It waits for nobody who reads.
func (r *Ring) Add(pid int, events ...*traffic.Event) {
	r.adding.Lock()
	defer r.adding.Unlock()
	for _, e := range events {
		if len(r.records)+len(e.Message) > maxWrite {
			r.write()
		}
		r.prepare(pid, e)
	}
	r.write()
	if cap(r.records) > 2*maxWrite {
		r.records = nil // of a large message
	}
}

// prepare makes the record and the entry of a message.
func (r *Ring) prepare(pid int, of *traffic.Event) {
	e := *of
	for _, text := range [...]*string{&e.Client, &e.Server, &e.Method, &e.Name, &e.Note} {
		*text = beginning(*text) // a few long ones would remove the messages of all others
	}
	var shared []byte
	if e.Shared && len(e.Message) <= maxShared {
		shared, e.Message = e.Message, nil
	}
	begin := len(r.records)
	var head int
	r.records, head = appendRecord(r.records, &e)
	size := int64(len(r.records) - begin)
	if r.file == nil {
		r.records, size = r.records[:begin], 0
	} else if size > r.options.Bytes {
		r.records, size, r.unkept = r.records[:begin], 0, fmt.Errorf("it has %d bytes", size)
	}
	one := entry{at: -1, time: e.Time.UnixNano(), took: int64(e.Took), call: e.Call, pid: int32(pid), head: int32(head), body: int32(len(e.Message)),
		size: clamp(e.Size), count: clamp(e.Count), kind: kindOf(e.Kind), toClient: !e.ToServer, failed: of.Failed(), legacy: of.Legacy,
		headers: e.Kind == traffic.Note && e.Note == "http"}
	for i, hop := range hops {
		if hop == e.Hop {
			one.hop = int8(i)
		}
	}
	if e.Kind == traffic.Note && e.Note == "policy" {
		effect, _ := jsonrpc.Unquote(jsonrpc.Get(e.Message, "effect"))
		one.effect = int8(max(0, slices.Index(effects[:], effect)))
	}
	r.pending = append(r.pending, added{one, [...]string{e.Client, e.Server, e.Method, e.Name, e.Note}, shared, size})
}

// write writes what was prepared, and puts it into the index.
func (r *Ring) write() {
	r.mu.Lock()
	for i := range r.pending {
		if one := &r.pending[i]; one.size > 0 {
			one.at = r.reserve(one.size)
		}
	}
	r.mu.Unlock()
	begin := int64(0)
	for i := 0; i < len(r.pending); { // those that stand behind each other in one go
		first, size := i, r.pending[i].size
		for i++; i < len(r.pending) && (r.pending[i].size == 0 || r.pending[i].at == r.pending[first].at+size); i++ {
			size += r.pending[i].size
		}
		if size == 0 {
			continue
		}
		if _, err := r.file.WriteAt(r.records[begin:begin+size], r.pending[first].at); err != nil {
			for k := range r.pending[first:i] {
				r.pending[first+k].at = -1
			}
			r.unkept = err
		}
		begin += size
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil && len(r.pending) > 0 {
		if r.fault = nil; r.unkept != nil {
			r.fault = fmt.Errorf("messages are not kept: %w", r.unkept)
		}
	}
	for i := range r.pending {
		r.append(&r.pending[i])
	}
	if len(r.pending) > 0 && len(r.ended) > 0 {
		r.unend(r.pending[0].pid)
	}
	clear(r.pending)
	r.records, r.pending, r.unkept = r.records[:0], r.pending[:0], nil
	r.wake()
}
