package pipe

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// Parse parses one message of a server, in any form that [jsonrpc.ParseLoose] accepts.
func Parse(data []byte) (jsonrpc.Message, *jsonrpc.Error) {
	return jsonrpc.ParseLoose(data, jsonrpc.Limits{}, jsonrpc.OddAny)
}

// SplitBatch is like [jsonrpc.SplitBatch], but may repair the text of the batch first. The result
// odd lists the repairs.
func SplitBatch(data []byte, most int) (elements []json.RawMessage, odd jsonrpc.Odd, fault *jsonrpc.Error) {
	elements, fault = jsonrpc.SplitBatch(data, most, jsonrpc.Limits{})
	if fault != nil && fault.Code == jsonrpc.ParseError {
		if text, mended := jsonrpc.MendText(data); mended != 0 {
			if again, still := jsonrpc.SplitBatch(text, most, jsonrpc.Limits{}); still == nil {
				return again, mended, nil
			}
		}
	}
	return elements, 0, fault
}

// LooksLikeResponse reports whether data has members of a response.
func LooksLikeResponse(data []byte) bool {
	members, fault := jsonrpc.Index(data, jsonrpc.Limits{})
	return fault != nil || members.Get("result") != nil || members.Get("error") != nil
}

// maxSkipped is the maximum number of log records about lines that are not messages.
const maxSkipped = 20

// A skipped logs output of a server that is not a message, at most maxSkipped times.
type skipped struct {
	log    *slog.Logger
	name   string
	onSkip func(line string) // may be nil
	named  func()            // called for each skipped line in place of a log record; may be nil

	sent atomic.Bool // the server has sent a message

	mu     sync.Mutex
	logged int
	first  string // first skipped line
	last   string // last one
	held   string // first line that is held back as a part of a message
}

// hold sets the lines that are held back as parts of a message.
func (n *skipped) hold(lines [][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held = ""; len(lines) > 0 {
		n.held = lineText(lines[0])
	}
}

// seen returns the line that best explains a missing message, or "": of a server that has never sent
// a message the first one, and else the last one.
func (n *skipped) seen() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sent.Load() {
		return cmp.Or(n.held, n.last)
	}
	return cmp.Or(n.held, n.first)
}

func lineText(data []byte) string { return plaintext.Line(string(data[:min(len(data), 1024)]), 200) }

func (n *skipped) add(data []byte, fault *jsonrpc.Error) {
	if n.named != nil {
		n.named()
		return
	}
	line := lineText(data)
	n.mu.Lock()
	n.logged++
	logged := n.logged
	n.first, n.last = cmp.Or(n.first, line), line
	n.mu.Unlock()
	if logged > maxSkipped {
		return
	}
	n.log.Debug("mcp: the server wrote something that is not a message; it was skipped", "server", n.name, "line", line, "why", fault.Message,
		mcp.LogBreach, "a server must write nothing to its standard output that is not a valid message (basic/transports)")
	if n.onSkip != nil {
		n.onSkip(line)
	}
}
