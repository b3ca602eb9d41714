package edge

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// capabilitiesOf decodes the capabilities of a client. The parameter name is the member's name in
// errors. Callers share the result and must not change it.
func (e *Edge) capabilitiesOf(name string, raw json.RawMessage) (*mcp.ClientCapabilities, *jsonrpc.Error) {
	if fault := checkDescription(name, raw); fault != nil {
		return nil, fault
	}
	c, err := e.capabilities.decode(raw)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %v", name, err)
	}
	return c, nil
}

// infoOf decodes the clientInfo of a client. It returns nil if the value is missing or malformed,
// as it is for display only. Callers share the result and must not change it.
func (e *Edge) infoOf(name string, raw json.RawMessage) (*mcp.Implementation, *jsonrpc.Error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if fault := checkDescription(name, raw); fault != nil {
		return nil, fault
	}
	info, err := e.info.decode(raw)
	if err != nil {
		return nil, nil
	}
	return info, nil
}

func checkDescription(name string, raw json.RawMessage) *jsonrpc.Error {
	if len(raw) > maxDescription {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: at most %d bytes, got %d", name, maxDescription, len(raw))
	}
	return nil
}

// A newest caches the last decoded value, as modern clients send the same bytes with every request.
type newest[T any] struct{ last atomic.Pointer[decoded[T]] }

type decoded[T any] struct {
	raw   []byte
	value *T // separate, so that a reference to the value does not keep raw in memory
}

func (n *newest[T]) decode(raw json.RawMessage) (*T, error) {
	if last := n.last.Load(); last != nil && bytes.Equal(last.raw, raw) {
		return last.value, nil
	}
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		return nil, err
	}
	n.last.Store(&decoded[T]{raw: bytes.Clone(raw), value: value})
	return value, nil
}
