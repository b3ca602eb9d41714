package traffic

import (
	"encoding/json"
	"time"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// The hops of an [Event].
const (
	Client = "client" // between a client and this process
	Server = "server" // between this process and a server
)

// The kinds of an [Event].
const (
	Request      = "request"
	Notification = "notification"
	Response     = "response"
	Error        = "error"   // a response with an error
	Failure      = "failure" // a request that got no response; Fault is the reason
	Note         = "note"    // not a message but a fact about a request; the field Note is its kind, and Message its content
	Dropped      = "dropped" // messages that a slow watcher missed at this point; Count is their number
)

// The limits of the parts of a shown message.
const (
	maxShownText  = 64 << 10 // characters of a string
	maxShown      = 1 << 20  // bytes of the whole message
	maxShownDepth = 32       // nesting of objects and arrays
	maxShownWords = 500      // characters of a name, a method or an id
	maxFault      = 4 << 10  // bytes of Fault
)

// An Event is a message between this process and a client or server. Empty fields are omitted. The
// tags are those of [fields.Table].
type Event struct {
	Time     time.Time `json:"time" doc:"the time of the message"`
	Kind     string    `json:"kind" doc:"'request', 'notification', 'response', 'error'; 'failure' without a response, with 'fault'; 'dropped', with the 'count' of messages that came too fast; with '--notes' also 'note', which is not a message"`
	Hop      string    `json:"hop,omitempty" doc:"'client', between a client and Junction, or 'server', between Junction and a server"`
	ToServer bool      `json:"toServer,omitempty" doc:"'true' on the way toward the server"`
	Server   string    `json:"server,omitempty" doc:"the configured name of the server"`
	Client   string    `json:"client,omitempty" redact:"words" doc:"the client's name and version, as it gives them"`
	Revision string    `json:"revision,omitempty" doc:"the revision of the client's connection"`
	// Call is 0 for messages outside of calls.
	Call uint64          `json:"call,omitempty" doc:"a number shared by all messages of one request of a client, on both hops"`
	ID   json.RawMessage `json:"id,omitempty" redact:"words" doc:"the id of the message"`
	// Method and Name come from the request. The event of its response has them too.
	Method string        `json:"method,omitempty" redact:"words" doc:"the method of the request, or of the answered one"`
	Name   string        `json:"name,omitempty" redact:"uri" doc:"the tool, prompt or URI of the request, or of the answered one"`
	Took   time.Duration `json:"took,omitempty" doc:"nanoseconds from the request to its response"`
	Size   int           `json:"size,omitempty" doc:"bytes of the message"`
	// Message is the message with its secrets removed, as far as names and forms of values reveal
	// them. Long strings are cut. A message that is still too large is omitted.
	Message json.RawMessage `json:"message,omitempty" redact:"message" doc:"the message, without texts that are too long; of a note the treatment of the request"`
	// Shared reports whether many events contain this message, byte for byte.
	Shared bool   `json:"-"`
	Fault  string `json:"fault,omitempty" redact:"fault" doc:"the reason for a missing response"`
	Note   string `json:"note,omitempty" doc:"the [kind of a note](console.md#the-api), such as 'http' or 'policy'"`
	Legacy bool   `json:"legacy,omitempty" doc:"'true' if a server refuses 'server/discover', as legacy servers do; this shows its era and is not an error"`
	// Transport is "process" for messages that exist only for watchers.
	Transport string `json:"transport,omitempty" doc:"the transport of the hop: 'stream', 'http', 'sse', or 'process' for a server in this process"`
	Count     int    `json:"count,omitempty" doc:"the number of missed messages"`

	asks   *requestFacts // for a request: facts that later messages need
	of     *requestFacts // for other messages: facts of the request that they belong to
	read   bool          // whether the fields have been filled from the message
	asIs   bool          // whether the message has no secrets and is within the limits
	failed bool          // result of Failed for a response
}

// weight returns the approximate size of an event in bytes.
func (e *Event) weight() int64 {
	const rest = 300
	return int64(rest + len(e.Message) + len(e.ID) + len(e.Method) + len(e.Name) + len(e.Client) + len(e.Fault))
}

// hide removes secrets from the event. The shown message is appended to text, which hide returns.
func (e *Event) hide(text []byte, words *wordsBefore) []byte {
	e.hideWords(words)
	return e.hideMessage(text)
}

// wordsBefore holds the redacted strings of the previous event in the order of the fields. Most
// strings of consecutive events are equal.
type wordsBefore [8]word

type word struct{ said, shown string }

// redacted returns a string with its secrets removed. class is the tag redact of the field.
func redacted(class, text string) string {
	switch class {
	case "fault":
		return redact.Text(text, maxFault)
	case "uri":
		text = redact.URI(text)
	}
	return redact.Text(text, maxShownWords)
}

// hideWords removes secrets from all fields except the message.
func (e *Event) hideWords(last *wordsBefore) {
	events.Texts(e, func(n int, class string, text *string) {
		w := &last[n]
		if *text != w.said {
			*w = word{*text, redacted(class, *text)}
		}
		*text = w.shown
	})
	if text, is := jsonrpc.Unquote(e.ID); is {
		e.ID = jsonrpc.AppendString(nil, redacted("words", text))
	}
}

func (e *Event) hideMessage(text []byte) []byte {
	if len(e.Message) == 0 {
		return text
	}
	at := len(text)
	text, whole := redact.AppendJSON(text, e.Message, *limitsOf(e.Kind))
	if e.Message = text[at:len(text):len(text)]; !whole {
		e.Message, text = nil, text[:at]
	}
	return text
}

// events encodes events without reflection, because the encoding delays calls.
var events = fields.Of[Event]()

// AppendJSON appends the event as encoding/json does, but faster.
func (e *Event) AppendJSON(dst []byte) []byte { return events.Append(dst, e, nil) }

// readMessage fills in the fields from the message. Passes reads only the beginning of a message.
func (e *Event) readMessage() {
	if e.read = true; e.Kind == "" && !e.readKind() || e.of == nil {
		return
	}
	e.of.mu.Lock()
	name, client := e.of.name, e.of.client
	e.of.mu.Unlock()
	switch e.Kind {
	case Response, Error:
		if e.ToServer || e.of.id != string(e.ID) { // a response to a request of the server, which may have the same id
			break
		}
		fallthrough
	case Failure:
		e.Method, e.Name, e.Took = e.of.method, name, e.Time.Sub(e.of.began)
		e.Legacy = e.Legacy || e.refusesDiscovery()
	case Note:
		e.Name = name
	}
	if e.Client == "" {
		e.Client = client
	}
}

// readKind sets the kind of the message, and reports whether the message is valid.
func (e *Event) readKind() bool {
	var h head
	if e.asIs = h.read(e.Message); h.kind == "" {
		e.Kind, e.Fault, e.Message = Failure, "this is no message of JSON-RPC", nil
		return false
	}
	if e.Kind, e.ID, e.failed = h.kind, h.id, h.failed; h.method == "" {
		return true
	}
	e.Method, e.Name = h.method, h.name
	if e.Client == "" {
		e.Client = h.client
	}
	if e.asks != nil {
		e.asks.mu.Lock()
		defer e.asks.mu.Unlock()
		e.asks.name, e.asks.client = e.Name, e.Client
	}
	return true
}

// Failed reports whether the event is the failure of a request or of a tool.
func (e *Event) Failed() bool {
	switch {
	case e.Legacy:
		return false
	case e.Kind == Error, e.Kind == Failure:
		return true
	case e.Kind != Response || e.read:
		return e.failed
	}
	return string(jsonrpc.Get(jsonrpc.Get(e.Message, "result"), "isError")) == "true"
}
