package pipe

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// AreMessages reports whether data is a whole message, a whole batch, or several messages with one
// on each line. Further input could then only make it invalid.
func AreMessages(data []byte) bool {
	switch {
	case !MayBeWhole(data):
		return false
	case jsonrpc.IsBatch(data):
		_, _, fault := SplitBatch(data, maxBatch)
		return fault == nil
	}
	_, fault := Parse(data)
	return fault == nil || MessageLines(data) != nil
}

// MayBeWhole reports whether data ends like a whole message. It is much faster than parsing.
func MayBeWhole(data []byte) bool {
	data = bytes.TrimRight(data, " \t\n")
	return len(data) > 0 && (data[len(data)-1] == '}' || data[len(data)-1] == ']')
}

// MessageLines returns the lines of data if there are several and each is a message. Otherwise it
// returns nil. Some servers omit the blank lines between events and thus send such data.
func MessageLines(data []byte) (lines [][]byte) {
	if bytes.IndexByte(data, '\n') < 0 {
		return nil
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if _, fault := Parse(line); fault != nil || len(lines) == maxBatch {
			return nil
		}
		lines = append(lines, line)
	}
	if len(lines) < 2 {
		return nil
	}
	return lines
}
