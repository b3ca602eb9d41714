package traffic

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// Calling begins a call that this process makes of its own accord, of which client is the name: what goes to servers with a
// context that has the Noter, see [mcp.WithNoter], has the same number as its notes. It is nil while nobody watches.
func (l *Log) Calling(client, server, method, name string) mcp.Noter {
	if l.watching.Load() == 0 {
		return nil
	}
	return &request{call: l.calls.Add(1), hop: &hop{log: l, name: Client, server: server}, method: method, name: name, client: client, began: time.Now()}
}

// Note implements [mcp.Noter]: it shows what is said of a request, as an event that belongs to the same call.
func (r *request) Note(kind string, note any) {
	if r.hop.log.noting.Load() == 0 {
		return
	}
	text, is := note.(jsonrpc.Encoded)
	if !is {
		var err error
		if text, err = json.Marshal(note); err != nil {
			text = jsonrpc.AppendString(nil, err.Error())
		}
	}
	r.hop.log.add(&Event{Time: time.Now(), Kind: Note, Note: kind, Hop: r.hop.name, Server: r.hop.server, Client: r.client, Call: r.call,
		ID: json.RawMessage(r.id), Method: r.method, Name: r.name, Size: len(text), Message: json.RawMessage(text)})
}
