package traffic

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Calling begins a call that this process makes under the name client. Notes to the returned
// NoteObserver have the call's number, and so have messages to servers with a context that has the
// NoteObserver (see [mcp.WithNoteObserver]). Calling returns nil if there are no watchers.
func (l *Log) Calling(client, server, method, name string) mcp.NoteObserver {
	if l.watching.Load() == 0 {
		return nil
	}
	return &watched{call: l.calls.Add(1), hop: &hop{log: l, name: Client, server: server}, requestFacts: &requestFacts{method: method, name: name, client: client, began: time.Now()}}
}

// CallOf returns the number of the call that [Log.Calling] began, or 0 for any other NoteObserver.
func CallOf(n mcp.NoteObserver) uint64 {
	if r, is := n.(*watched); is {
		return r.call
	}
	return 0
}

// appender is a value that encodes itself faster than encoding/json.
type appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// Note implements [mcp.NoteObserver]. It adds an event with the note and the number of the call.
func (r *watched) Note(kind string, note any) {
	log := r.hop.log
	if log.noting.Load() == 0 {
		return
	}
	e := Event{Time: time.Now(), Kind: Note, Note: kind, Hop: r.hop.name, Server: r.hop.server, Call: r.call, ID: json.RawMessage(r.id), Method: r.method, of: r.requestFacts}
	if shared, is := note.(json.RawMessage); is {
		e.Message, e.Size, e.Shared = shared, len(shared), true
		log.add(&e)
		return
	}
	buffer := log.buffer()
	defer log.buffers.Put(buffer)
	var err error
	if a, is := note.(appender); is {
		*buffer, err = a.AppendJSON((*buffer)[:0])
	} else {
		*buffer, err = json.Marshal(note)
	}
	if err != nil {
		*buffer = jsonrpc.AppendString((*buffer)[:0], err.Error())
	}
	e.Message, e.Size = *buffer, len(*buffer)
	log.add(&e)
}

// buffer returns a buffer for a generated message. The caller puts it back into l.buffers.
func (l *Log) buffer() *[]byte {
	if b, is := l.buffers.Get().(*[]byte); is {
		return b
	}
	return new([]byte)
}
