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
	// MaxSize limits a file, both written and read, in bytes. Later messages are not recorded.
	MaxSize = 256 << 20
	// maxLine limits a line, in bytes. A longer message is omitted, and the line has its size.
	maxLine = 24 << 20
)

// format is the version of the file's format in its first line.
const format = 1

// The events of lines. All but the last three belong to a call.
const (
	eventRequest        = "request"        // a request of a client: begins a call
	eventRound          = "round"          // the client repeats the request with responses to the server's requests
	eventNotification   = "notification"   // a notification of the server in the call
	eventServerRequest  = "serverRequest"  // a request of the server in the call
	eventClientResponse = "clientResponse" // the client's result or error
	eventResult         = "result"         // ends the call
	eventError          = "error"          // ends the call
	eventCancelled      = "cancelled"      // ends the call: the client dropped the request
	eventLost           = "lost"           // lines that could not be written in time
	eventFull           = "full"           // the file reached its limit
	eventEnd            = "end"            // the Recorder was closed
)

// A header is the first line.
type header struct {
	Recording int    `json:"recording"`
	Program   string `json:"program"`
	Began     string `json:"began"` // RFC 3339
}

// A line is any other line, in the order of writing. Fields with the tag redact are written without
// secrets.
type line struct {
	MS     float64 `json:"ms"` // milliseconds since the start of the recording
	Event  string  `json:"event"`
	Call   int64   `json:"call,omitzero"`
	Server string  `json:"server,omitzero"`

	// For a request:
	Caller   int    `json:"caller,omitzero"`                  // number of the client, from 1; 0 if unknown
	Client   string `json:"client,omitzero" redact:"secrets"` // the client's own name
	Revision string `json:"revision,omitzero"`                // the client's revision
	// Capabilities lists the client's declared ones among elicitation, sampling, roots.
	Capabilities []string `json:"capabilities,omitempty"`

	// For a request, a notification and a request of the server:
	Method string `json:"method,omitzero"`

	// For a request of the server, and the response to it:
	Ask int64  `json:"ask,omitzero"` // number in this round of the call
	Key string `json:"key,omitzero" redact:"secrets"`

	// For a request, a notification and a request of the server:
	Params json.RawMessage `json:"params,omitzero" redact:"secrets"`

	// For a result or an error, and a client's response:
	Type   string          `json:"type,omitzero"`
	Result json.RawMessage `json:"result,omitzero" redact:"secrets"`
	Meta   json.RawMessage `json:"meta,omitzero" redact:"secrets"`
	TTL    int64           `json:"ttlMs,omitzero"`
	Scope  string          `json:"cacheScope,omitzero"`
	Error  *fault          `json:"error,omitzero"`

	Omitted int `json:"omittedBytes,omitzero"` // bytes of the omitted content

	// For lost lines:
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

// ms returns a duration in milliseconds, as in files.
func ms(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1000 }

// append appends the line, without secrets, and a line feed.
func (l *line) append(dst []byte, h *hider) []byte {
	from := len(dst)
	out := lines.Append(dst, l, hiding{h})
	jsonrpc.JoinLines(out[from:]) // a server may have written its JSON on several lines
	return append(out, '\n')
}

// hiding is a [fields.Hider].
type hiding struct{ *hider }

func (h hiding) Text(value string) string                   { return h.text(value) }
func (h hiding) JSON(value json.RawMessage) json.RawMessage { return h.json(value) }

// The capabilities in a line.
const (
	canElicit = "elicitation"
	canSample = "sampling"
	canRoots  = "roots"
)

// declared returns the names of the client's capabilities for requests of the server.
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

// known returns the known names among names, each once.
func known(names []string) (all []string) {
	for _, name := range []string{canElicit, canSample, canRoots} {
		if slices.Contains(names, name) {
			all = append(all, name)
		}
	}
	return all
}

// size returns the approximate size of the line in bytes.
func (l *line) size() int {
	n := 256 + len(l.Params) + len(l.Result) + len(l.Meta)
	if l.Error != nil {
		n += len(l.Error.Message) + len(l.Error.Data)
	}
	return n
}

// without returns the line without its long parts.
func (l *line) without() *line {
	short := *l
	short.Omitted = l.size()
	short.Params, short.Result, short.Meta = nil, nil, nil
	if l.Error != nil {
		short.Error = &fault{Code: l.Error.Code, Message: "the message is too long to be recorded"}
	}
	return &short
}
