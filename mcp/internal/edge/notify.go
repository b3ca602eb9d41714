package edge

import (
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// progress holds how far a request has told it is; it may only increase.
type progress struct {
	told bool
	last float64
}

// advance reports whether the notification says more than the one before.
func (p *progress) advance(params json.RawMessage) bool {
	n, err := strconv.ParseFloat(string(member(params, "progress")), 64)
	if err != nil || p.told && n <= p.last {
		return false
	}
	p.told, p.last = true, n
	return true
}

// loud reports whether a log message is of the wanted severity.
func loud(params json.RawMessage, wanted mcp.LogLevel) bool {
	if wanted == "" {
		return false
	}
	level, _ := jsonrpc.Unquote(member(params, "level"))
	return mcp.LogLevel(level).Severity() >= wanted.Severity()
}

// withFirst returns the object with one more member, before the others.
func withFirst(object json.RawMessage, name string, value []byte) json.RawMessage {
	out := append(append(append([]byte{'{', '"'}, name...), '"', ':'), value...)
	if len(object) <= len("{}") {
		return append(out, '}')
	}
	return append(append(out, ','), object[1:]...)
}

// withMember returns the object with one member set.
func withMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	var out []byte
	var any bool
	if len(object) > 0 {
		out, any = jsonrpc.AppendEdited(make([]byte, 0, len(object)+len(name)+len(value)+8), object, name)
	} else {
		out = []byte{'{'}
	}
	if any {
		out = append(out, ',')
	}
	return append(append(append(append(append(out, '"'), name...), '"', ':'), value...), '}')
}

// withMetaMember returns the parameters with one member of _meta set.
func withMetaMember(params json.RawMessage, name string, value []byte) json.RawMessage {
	meta := member(params, "_meta")
	return withMember(params, "_meta", withMember(meta, name, value))
}

// member returns one member of an object that was checked before, or nil.
func member(object json.RawMessage, name string) json.RawMessage {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	var found json.RawMessage
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		if n, ok := jsonrpc.Unquote(quoted); ok && n == name {
			found = value
		}
		return found == nil
	})
	return found
}
