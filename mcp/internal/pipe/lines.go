package pipe

import (
	"bytes"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A gatherer joins the lines of a message that a server wrote over several lines, for example with
// indentation. A JSON string contains no line ends, so each line consists of whole tokens. The
// message ends with the bracket that closes its first one. Other lines are returned as stray.
type gatherer struct {
	most  int // maximum bytes of a message
	lines [][]byte
	size  int
	depth int
}

// lineCost is the additional memory of a stored line in bytes, as a line may have a single byte.
const lineCost = 32

// add adds a line that is not a message by itself. It returns the message once it is complete, and
// the lines that belong to no message.
func (g *gatherer) add(line []byte) (message []byte, stray [][]byte) {
	depth, tokens := nesting(line)
	if begins := len(g.lines) == 0; !tokens || begins && !opens(line, depth) || g.depth+depth < 0 || g.size+len(line)+lineCost > g.most {
		stray = append(g.drop(), line)
		if begins || !tokens || !opens(line, depth) {
			return nil, stray
		}
		stray = stray[:len(stray)-1] // the line may begin another message
	}
	g.lines, g.size, g.depth = append(g.lines, line), g.size+len(line)+lineCost, g.depth+depth
	if g.depth > 0 {
		return nil, stray
	}
	message = bytes.Join(g.lines, []byte{'\n'})
	text, _ := jsonrpc.MendText(message)
	if fault := jsonrpc.Valid(text, jsonrpc.Limits{}); fault != nil && fault.Code == jsonrpc.ParseError {
		return nil, append(stray, g.drop()...)
	}
	g.drop()
	return message, stray
}

// drop removes and returns the gathered lines.
func (g *gatherer) drop() [][]byte {
	lines := g.lines
	g.lines, g.size, g.depth = nil, 0, 0
	return lines
}

// opens reports whether a line with this nesting begins a message with a bracket that it does not
// close.
func opens(line []byte, depth int) bool {
	i := jsonrpc.SkipSpace(line, 0)
	return depth > 0 && (line[i] == '{' || line[i] == '[')
}

// nesting returns the number of brackets that a line opens, minus those that it closes. It also
// reports whether the line consists of whole JSON tokens.
func nesting(line []byte) (depth int, tokens bool) {
	for i := jsonrpc.SkipSpace(line, 0); i < len(line); i = jsonrpc.SkipSpace(line, i) {
		switch c := line[i]; {
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == ',' || c == ':':
			i++
		case c == '"':
			end, whole := jsonrpc.SkipValue(line, i)
			if !whole {
				return 0, false
			}
			i = end
		default:
			end, _ := jsonrpc.SkipValue(line, i)
			if end == i || !isScalar(line[i:end]) {
				return 0, false
			}
			i = end
		}
	}
	return depth, true
}

func isScalar(token []byte) bool {
	switch string(token) {
	case "true", "false", "null", "NaN", "Infinity", "-Infinity":
		return true
	}
	return jsonrpc.Valid(token, jsonrpc.Limits{}) == nil
}
