package traffic

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

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
