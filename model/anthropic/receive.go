package anthropic

import (
	"cmp"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// Whole takes in a message that came in one piece, from a server that does not stream.
func (a *assembly) Whole(data []byte) {
	if wire.StringOf(data, "type") != "message" {
		a.Event(data)
		return
	}
	a.start(data)
	i := 0
	jsonrpc.EachElement(jsonrpc.Get(data, "content"), func(content []byte) bool {
		a.startBlock(i, content)
		a.stopBlock(i)
		i++
		return len(a.pieces) < maxBlocks
	})
	a.Reason = wire.StringOf(data, "stop_reason")
}

// Event takes in one event. Its name is found in its data, as some servers leave out the line that has it.
func (a *assembly) Event(data []byte) {
	index := wire.Number(data, "index")
	switch wire.StringOf(data, "type") {
	case "message_start":
		a.start(jsonrpc.Get(data, "message"))
	case "content_block_start":
		a.startBlock(index, jsonrpc.Get(data, "content_block"))
	case "content_block_delta":
		a.delta(index, jsonrpc.Get(data, "delta"))
	case "content_block_stop":
		a.stopBlock(index)
	case "message_delta":
		a.Reason = cmp.Or(wire.StringOf(jsonrpc.Get(data, "delta"), "stop_reason"), a.Reason)
		a.count(jsonrpc.Get(data, "usage"))
	case "message_stop":
		a.Done = true
	case "error":
		a.Complain(data)
	}
}

func (a *assembly) start(message []byte) {
	a.Begun = true
	a.Model = wire.StringOf(message, "model")
	a.count(jsonrpc.Get(message, "usage"))
}

// count takes in a count of tokens. Later ones are of the whole message, and leave
// out what has not changed.
func (a *assembly) count(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if a.Usage == nil {
		a.Usage = &model.Usage{}
	}
	u := a.Usage
	u.CacheRead = max(u.CacheRead, wire.Number(raw, "cache_read_input_tokens"))
	u.CacheWrite = max(u.CacheWrite, wire.Number(raw, "cache_creation_input_tokens"))
	a.input = max(a.input, wire.Number(raw, "input_tokens"))
	u.Input = a.input + u.CacheRead + u.CacheWrite
	u.Output = max(u.Output, wire.Number(raw, "output_tokens"))
	u.Reasoning = max(u.Reasoning, wire.Number(jsonrpc.Get(raw, "output_tokens_details"), "thinking_tokens"))
}
