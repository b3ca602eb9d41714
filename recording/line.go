package recording

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// The limits of a file.
const (
	// MaxSize is how large a file becomes, and how large one is that is read. What comes later is not recorded.
	MaxSize = 256 << 20
	// maxLine is how long a line may be. A message that would need more is left out, and the line says so.
	maxLine = 24 << 20
)

// format is the version of the file's format, which its first line has.
const format = 1

// What a line is about. But for the last three, they are the events of one call.
const (
	eventRequest        = "request"        // a request of a client: a call begins
	eventRound          = "round"          // the client comes back with responses to what the server asked
	eventNotification   = "notification"   // of the server, in the call
	eventServerRequest  = "serverRequest"  // the server asks the client in the call
	eventClientResponse = "clientResponse" // the client's result or error
	eventResult         = "result"         // the call is over
	eventError          = "error"          // the same
	eventCancelled      = "cancelled"      // the same: the client does not want the result any more
	eventLost           = "lost"           // lines that could not be written in time
	eventFull           = "full"           // the file is as large as it may be
	eventEnd            = "end"            // nothing more was to be recorded
)

// A header is the first line.
type header struct {
	Recording int    `json:"recording"`
	Program   string `json:"program"`
	Began     string `json:"began"` // RFC 3339
}

// A line is any other one, in the order in which it is written. Fields with the tag redact are written without secrets.
type line struct {
	MS     float64 `json:"ms"` // milliseconds since the recording began
	Event  string  `json:"event"`
	Call   int64   `json:"call,omitzero"`
	Server string  `json:"server,omitzero"`

	// Of a request:
	Caller   int    `json:"caller,omitzero"`                  // which client it is, from 1; 0 where nothing says so
	Client   string `json:"client,omitzero" redact:"secrets"` // what the client calls itself
	Revision string `json:"revision,omitzero"`                // that the client speaks
	// Capabilities names what the client declared that it can be asked for: elicitation, sampling, roots.
	Capabilities []string `json:"capabilities,omitempty"`

	// Of a request, a notification and a request of the server:
	Method string `json:"method,omitzero"`

	// Of a request of the server, and of the response to it:
	Ask int64  `json:"ask,omitzero"` // its number in this round of the call
	Key string `json:"key,omitzero" redact:"secrets"`

	// Of a request, a notification and a request of the server:
	Params json.RawMessage `json:"params,omitzero" redact:"secrets"`

	// Of a result or an error, and of a client's response:
	Type   string          `json:"type,omitzero"`
	Result json.RawMessage `json:"result,omitzero" redact:"secrets"`
	Meta   json.RawMessage `json:"meta,omitzero" redact:"secrets"`
	TTL    int64           `json:"ttlMs,omitzero"`
	Scope  string          `json:"cacheScope,omitzero"`
	Error  *fault          `json:"error,omitzero"`

	Omitted int `json:"omittedBytes,omitzero"` // what the line would hold has so many, and is left out

	// Of what was lost:
	Lines int `json:"lines,omitzero"`
	Bytes int `json:"bytes,omitzero"`
}

// A fault is an error of the protocol.
type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message" redact:"secrets"`
	Data    json.RawMessage `json:"data,omitzero" redact:"secrets"`
}

var (
	headers = fields.Of[header]()
	lines   = fields.Of[line]()
)

// ms is a time of a file.
func ms(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1000 }

// append appends the line with its end, without secrets.
func (l *line) append(dst []byte, h *hider) []byte {
	from := len(dst)
	out := lines.Append(dst, l, hiding{h})
	jsonrpc.JoinLines(out[from:]) // a server may have written its JSON over several
	return append(out, '\n')
}

// hiding is a [fields.Hider].
type hiding struct{ *hider }

func (h hiding) Text(value string) string                   { return h.text(value) }
func (h hiding) JSON(value json.RawMessage) json.RawMessage { return h.json(value) }

// The capabilities that a line names.
const (
	canElicit = "elicitation"
	canSample = "sampling"
	canRoots  = "roots"
)

// declared are the names of what a client can be asked for.
func declared(c *mcp.ClientCapabilities) (names []string) {
	if c == nil {
		return nil
	}
	if c.Elicitation != nil {
		names = append(names, canElicit)
	}
	if c.Sampling != nil {
		names = append(names, canSample)
	}
	if c.Roots != nil {
		names = append(names, canRoots)
	}
	return names
}

// known are those of the names of a file that are known, each once.
func known(names []string) (all []string) {
	for _, name := range []string{canElicit, canSample, canRoots} {
		if slices.Contains(names, name) {
			all = append(all, name)
		}
	}
	return all
}

// size is about how many bytes the line has.
func (l *line) size() int {
	n := 256 + len(l.Params) + len(l.Result) + len(l.Meta)
	if l.Error != nil {
		n += len(l.Error.Message) + len(l.Error.Data)
	}
	return n
}

// without is the line without what makes it long.
func (l *line) without() *line {
	short := *l
	short.Omitted = l.size()
	short.Params, short.Result, short.Meta = nil, nil, nil
	if l.Error != nil {
		short.Error = &fault{Code: l.Error.Code, Message: "the message is too long to be recorded"}
	}
	return &short
}
