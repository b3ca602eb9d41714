package policies

import (
	"encoding/json"
	"iter"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
)

// hashes matches a SHA-256 in hexadecimal. Its first group is enough to compare two of them by eye.
var hashes = lazy.Regexp(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// withoutOperation returns the lines about calls and events that users cause. It counts in others the
// lines that the operation of a gateway causes: checkpoints, starts and stops.
func withoutOperation(lines iter.Seq2[json.RawMessage, error], others *int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for line, err := range lines {
			if err == nil && isOperation(line) {
				*others++
				continue
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// isOperation reports whether the operation of a gateway caused a line.
func isOperation(line json.RawMessage) bool {
	kind, _ := jsonrpc.Unquote(jsonrpc.Get(line, "kind"))
	event, _ := jsonrpc.Unquote(jsonrpc.Get(line, "event"))
	return kind == audit.KindCheckpoint || kind == audit.KindAdmin && (event == audit.EventStart || event == audit.EventStop)
}
