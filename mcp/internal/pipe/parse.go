package pipe

import (
	"log/slog"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// Parse reads one message of a server. It forgives members that are null where
// they should be absent, such as "error":null next to a result, which some
// libraries write.
func Parse(data []byte) (jsonrpc.Message, *jsonrpc.Error) {
	m, fault := jsonrpc.Parse(data, jsonrpc.Limits{})
	if fault == nil || fault.Code != jsonrpc.InvalidRequest {
		return m, fault
	}
	members, broken := jsonrpc.Index(data, jsonrpc.Limits{})
	if broken != nil {
		return m, fault
	}
	var empty []string
	for _, name := range []string{"id", "method", "params", "result", "error"} {
		if string(members.Get(name)) == "null" {
			empty = append(empty, name)
		}
	}
	if len(empty) == 0 {
		return m, fault
	}
	edited := jsonrpc.NewObject(nil)
	edited.Members(data[jsonrpc.SkipSpace(data, 0):], empty...)
	if again, stillWrong := jsonrpc.Parse(edited.Bytes(), jsonrpc.Limits{}); stillWrong == nil {
		return again, nil
	}
	return m, fault
}

// looksLikeResponse reports whether data has what only responses have.
func looksLikeResponse(data []byte) bool {
	members, fault := jsonrpc.Index(data, jsonrpc.Limits{})
	return fault != nil || members.Get("result") != nil || members.Get("error") != nil
}

// maxSkipped is how many lines that are no messages are logged.
const maxSkipped = 20

// skipped logs what a server writes between its messages, at most maxSkipped times.
type skipped struct {
	log    *slog.Logger
	name   string
	onSkip func(line string) // may be nil

	mu     sync.Mutex
	logged int
}

func (n *skipped) add(data []byte, fault *jsonrpc.Error) {
	n.mu.Lock()
	n.logged++
	logged := n.logged
	n.mu.Unlock()
	if logged > maxSkipped {
		return
	}
	line := plaintext.Line(string(data[:min(len(data), 1024)]), 200)
	n.log.Debug("mcp: the server wrote something that is not a message; it was skipped", "server", n.name, "line", line, "why", fault.Message,
		mcp.LogBreach, "a server must write nothing to its standard output that is not a valid message (basic/transports)")
	if n.onSkip != nil {
		n.onSkip(line)
	}
}
