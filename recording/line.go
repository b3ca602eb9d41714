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
	// MaxSize is the largest size in bytes of a recording that is written or read. Later messages
	// are not recorded.
	MaxSize = 256 << 20
	// maxLine is the largest size of a line in bytes. The content of a longer message is omitted,
	// and the line has its size instead.
	maxLine = 24 << 20
)

// format is the version of the format. The first line of a file contains it.
const format = 1

// The events that lines record. All but the last three belong to a call.
const (
	eventRequest        = "request"        // a request of a client, which begins a call
	eventRound          = "round"          // the client repeats its request with responses to the server's requests
	eventNotification   = "notification"   // a notification of the server during the call
	eventServerRequest  = "serverRequest"  // a request of the server during the call
	eventClientResponse = "clientResponse" // the client's response to a request of the server
	eventResult         = "result"         // a result that ends the call
	eventError          = "error"          // an error that ends the call
	eventCancelled      = "cancelled"      // the client cancelled the request, which ends the call
	eventLost           = "lost"           // lines were dropped because they could not be written in time
	eventFull           = "full"           // the file reached its largest size
	eventEnd            = "end"            // the Recorder was closed
)

// A header is the first line of a file.
type header struct {
	Recording int    `json:"recording"`
	Program   string `json:"program"`
	Began     string `json:"began"` // in the format of RFC 3339
}

// A line is any line after the header. Lines are in the order in which they were written. Secrets
// are replaced in fields with the tag redact.
type line struct {
	MS     float64 `json:"ms"` // milliseconds since the start of the recording
	Event  string  `json:"event"`
	Call   int64   `json:"call,omitzero"`
	Server string  `json:"server,omitzero"`

	// For a request of a client:
	Caller   int    `json:"caller,omitzero"`                  // number of the client, from 1; 0 if unknown
	Client   string `json:"client,omitzero" redact:"secrets"` // the client's own name
	Revision string `json:"revision,omitzero"`                // the client's revision
	// Capabilities lists which of elicitation, sampling and roots the client declared.
	Capabilities []string `json:"capabilities,omitempty"`

	// For a request of a client, a notification, and a request of the server:
	Method string `json:"method,omitzero"`

	// For a request of the server and its response:
	Ask int64  `json:"ask,omitzero"` // number of the request in this round of the call
	Key string `json:"key,omitzero" redact:"secrets"`

	// For a request of a client, a notification, and a request of the server:
	Params json.RawMessage `json:"params,omitzero" redact:"secrets"`

	// For a result or error of the server, and for a response of the client:
	Type   string          `json:"type,omitzero"`
	Result json.RawMessage `json:"result,omitzero" redact:"secrets"`
	Meta   json.RawMessage `json:"meta,omitzero" redact:"secrets"`
	TTL    int64           `json:"ttlMs,omitzero"`
	Scope  string          `json:"cacheScope,omitzero"`
	Error  *fault          `json:"error,omitzero"`

	Omitted int `json:"omittedBytes,omitzero"` // bytes of the omitted content

	// For dropped lines:
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

// ms returns a duration in milliseconds, in the precision of the file.
func ms(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1000 }

// append appends the line with its secrets replaced, and a line feed.
func (l *line) append(dst []byte, h *hider) []byte {
	from := len(dst)
	out := lines.Append(dst, l, hiding{h})
	jsonrpc.JoinLines(out[from:]) // the JSON of a server may contain line breaks
	return append(out, '\n')
}

// hiding adapts a hider to [fields.Hider].
type hiding struct{ *hider }

func (h hiding) Text(value string) string                   { return h.text(value) }
func (h hiding) JSON(value json.RawMessage) json.RawMessage { return h.json(value) }

// The capabilities that lines record.
const (
	canElicit = "elicitation"
	canSample = "sampling"
	canRoots  = "roots"
)

// declared returns the names of the client's capabilities that lines record.
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

// recordedNames returns the given names that lines record, without duplicates.
func recordedNames(names []string) (all []string) {
	for _, name := range []string{canElicit, canSample, canRoots} {
		if slices.Contains(names, name) {
			all = append(all, name)
		}
	}
	return all
}

// size returns an estimate of the line's size in bytes.
func (l *line) size() int {
	n := 256 + len(l.Params) + len(l.Result) + len(l.Meta)
	if l.Error != nil {
		n += len(l.Error.Message) + len(l.Error.Data)
	}
	return n
}

// without returns a copy of the line without its long parts.
func (l *line) without() *line {
	short := *l
	short.Omitted = l.size()
	short.Params, short.Result, short.Meta = nil, nil, nil
	if l.Error != nil {
		short.Error = &fault{Code: l.Error.Code, Message: "the message is too long to be recorded"}
	}
	return &short
}
