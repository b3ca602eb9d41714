package mcp

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/mirror"
)

// maxMirroredTools bounds what is remembered of one server's tools.
const maxMirroredTools = 10_000

// mirrors remembers which arguments of a server's tools are repeated in headers.
type mirrors struct {
	mu    sync.RWMutex
	tools map[string][]mirror.Field
}

// learn takes the tools of a list, and returns the list without those whose
// annotations are invalid, as far as leaveOut wants.
func (m *mirrors) learn(list json.RawMessage, leaveOut func(tool string, err error) bool) json.RawMessage {
	if !mirror.Mentions(list) {
		return list
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil || len(m.tools) > maxMirroredTools {
		m.tools = make(map[string][]mirror.Field)
	}
	out, any := jsonrpc.AppendEdited(make([]byte, 0, len(list)), list, "tools")
	if any {
		out = append(out, ',')
	}
	out = append(out, `"tools":[`...)
	first := true
	jsonrpc.EachElement(jsonrpc.Get(list, "tools"), func(tool []byte) bool {
		name, _ := jsonrpc.Unquote(jsonrpc.Get(tool, "name"))
		fields, err := mirror.Fields(jsonrpc.Get(tool, "inputSchema"))
		if err != nil && leaveOut(name, err) {
			return true
		}
		m.tools[name] = fields
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, tool...)
		return true
	})
	return append(out, ']', '}')
}

// check compares the headers of a call that came over HTTP with its arguments,
// where the tool is known: a proxy reads the body, so it must
// (2026-07-28 basic/transports/streamable-http, server validation).
func (m *mirrors) check(req *Request) error {
	m.mu.RLock()
	fields := m.tools[req.Name]
	m.mu.RUnlock()
	if err := mirror.Check(fields, orEmptyObject(req.Arguments), req.Mirrored); err != nil {
		return Errorf(CodeHeaderMismatch, "tool %q: %v", req.Name, err)
	}
	return nil
}

// add puts the headers of a call beside it.
func (m *mirrors) add(header map[string]string, req *Request) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.tools[req.Name] {
		if value, present, err := f.Value(req.Arguments); err == nil && present {
			header[f.Header] = mirror.Encode(value)
		}
	}
}
