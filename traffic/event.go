package traffic

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/secret"
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
	Failure      = "failure" // no response came; Fault says why
	Note         = "note"    // no message: what was done with a request; the field Note says what kind of thing, Message what
	Dropped      = "dropped" // messages were missed here, as they came faster than they were taken; Count says how many
)

// The limits of what is shown of a message.
const (
	maxShownText  = 64 << 10 // characters of one string
	maxShown      = 1 << 20  // bytes in all
	maxShownDepth = 32       // objects and arrays in each other
	maxShownWords = 500      // characters of a name, a method or an id
	maxFault      = 4 << 10  // bytes of why no response came
)

// An Event is one message that went over one hop. Fields that say nothing are omitted.
type Event struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	Hop  string    `json:"hop,omitempty"`
	// ToServer is the direction: from the client toward the server, or else back.
	ToServer bool `json:"toServer,omitempty"`
	// Server is the configured name of a server; Client the name and the version that a client says of itself.
	Server string `json:"server,omitempty"`
	Client string `json:"client,omitempty"`
	// Revision is the one that is spoken with a client.
	Revision string `json:"revision,omitempty"`
	// Call is the same for all messages that belong to one request of a client, on both hops; 0 for messages of none.
	Call uint64 `json:"call,omitempty"`
	// ID is that of the JSON-RPC message.
	ID json.RawMessage `json:"id,omitempty"`
	// Method and Name are those of the request, or of the one that is answered; Name is that of a tool or prompt, or a URI.
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Took is the time since the request, of what answers it.
	Took time.Duration `json:"took,omitempty"` // in nanoseconds
	// Size is the length of the message in bytes.
	Size int `json:"size,omitempty"`
	// Message is the message, without secrets as far as their names and looks tell. Long strings are cut, and one that
	// is too large is left out.
	Message json.RawMessage `json:"message,omitempty"`
	// Shared says that many events have this message, byte for byte.
	Shared bool   `json:"-"`
	Fault  string `json:"fault,omitempty"`
	// Note is what a note is about, such as "policy".
	Note string `json:"note,omitempty"`
	// Transport is how the messages of the hop travel: "stream", "http" or "sse", or "process": the server
	// is a part of this process, and the messages are made to be shown.
	Transport string `json:"transport,omitempty"`
	Count     int    `json:"count,omitempty"`

	asIs bool // there is nothing to hide in the message
}

// weight is how many bytes an event holds, about.
func (e *Event) weight() int64 {
	const rest = 300
	return int64(rest + len(e.Message) + len(e.ID) + len(e.Method) + len(e.Name) + len(e.Client) + len(e.Fault))
}

// hide makes the event one that may be shown. Its message is then in text, which hide returns.
func (e *Event) hide(text []byte) []byte {
	e.hideWords()
	return e.hideMessage(text)
}

// hideWords is hide without the message.
func (e *Event) hideWords() {
	e.Fault = secret.Text(e.Fault, maxFault)
	e.Method, e.Client = secret.Text(e.Method, maxShownWords), secret.Text(e.Client, maxShownWords)
	if e.Name != "" {
		e.Name = secret.Text(secret.URI(e.Name), maxShownWords)
	}
	if text, is := jsonrpc.Unquote(e.ID); is {
		e.ID = jsonrpc.AppendString(nil, secret.Text(text, maxShownWords))
	}
}

func (e *Event) hideMessage(text []byte) []byte {
	if len(e.Message) == 0 {
		return text
	}
	at := len(text)
	text, whole := secret.AppendJSON(text, e.Message, *limitsOf(e.Kind))
	if e.Message = text[at:len(text):len(text)]; !whole {
		e.Message, text = nil, text[:at]
	}
	return text
}

// shownOf says of which members the names alone look like a secret's: of a note those of headers have names of their own.
func shownOf(kind string) func(name string) bool {
	if kind == Note {
		return func(name string) bool { return name == "requestHeaders" || name == "responseHeaders" }
	}
	return isProtocols
}

// isProtocols reports whether a member is one of the protocol's own, of which the name alone looks like a secret's.
func isProtocols(name string) bool { return name == "progressToken" }

// AppendJSON appends the event as encoding/json writes it, but faster: who watches takes the time of those whose messages it sees.
func (e *Event) AppendJSON(dst []byte) []byte {
	w := jsonrpc.NewObject(dst)
	var text [64]byte
	w.StringBytes("time", e.Time.AppendFormat(text[:0], time.RFC3339Nano))
	w.String("kind", e.Kind)
	words := func(name, value string) {
		if value != "" {
			w.String(name, value)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			w.Int(name, n)
		}
	}
	words("hop", e.Hop)
	if e.ToServer {
		w.Bool("toServer", true)
	}
	words("server", e.Server)
	words("client", e.Client)
	words("revision", e.Revision)
	if e.Call != 0 {
		w.Raw("call", strconv.AppendUint(text[:0], e.Call, 10))
	}
	if len(e.ID) > 0 {
		w.Raw("id", e.ID)
	}
	words("method", e.Method)
	words("name", e.Name)
	number("took", int64(e.Took))
	number("size", int64(e.Size))
	if len(e.Message) > 0 {
		w.Raw("message", e.Message)
	}
	words("fault", e.Fault)
	words("note", e.Note)
	words("transport", e.Transport)
	number("count", int64(e.Count))
	return w.Bytes()
}

// read says what the message is. Where it answers a request, that one is known.
func (e *Event) read(h *head, answered *request) {
	e.Kind, e.ID = h.kind, h.id
	if h.kind == Request || h.kind == Notification {
		e.Method, e.Name = h.method, h.name
		if e.Client == "" {
			e.Client = h.client
		}
	} else if answered != nil && answered.id == string(h.id) {
		e.answers(answered)
	}
}

// answers says which request an event answers.
func (e *Event) answers(r *request) {
	e.Method, e.Name, e.Took = r.method, r.name, e.Time.Sub(r.began)
}
