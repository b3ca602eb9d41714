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
	// Legacy says that a server refused server/discover, as legacy servers do: this is how its era is found out, and no error.
	Legacy bool `json:"legacy,omitempty"`
	// Transport is how the messages of the hop travel: "stream", "http" or "sse", or "process": the server
	// is a part of this process, and the messages are made to be shown.
	Transport string `json:"transport,omitempty"`
	Count     int    `json:"count,omitempty"`

	asks   *asked // what this request asks, and the others
	of     *asked // what the event answers, or belongs to
	read   bool   // what the message says is in the event
	asIs   bool   // there is nothing to hide in it
	failed bool   // as it says
}

// weight is how many bytes an event holds, about.
func (e *Event) weight() int64 {
	const rest = 300
	return int64(rest + len(e.Message) + len(e.ID) + len(e.Method) + len(e.Name) + len(e.Client) + len(e.Fault))
}

// hide makes the event one that may be shown. Its message is then in text, which hide returns.
func (e *Event) hide(text []byte, words *wordsBefore) []byte {
	e.hideWords(words)
	return e.hideMessage(text)
}

// wordsBefore are what is shown of the words of the event before, which most have in common with it.
type wordsBefore struct{ method, client, name word }

type word struct{ said, shown string }

func (w *word) of(said string, show func(string) string) string {
	if said != w.said {
		*w = word{said, show(said)}
	}
	return w.shown
}

// hideWords is hide without the message.
func (e *Event) hideWords(last *wordsBefore) {
	shown := func(text string) string { return secret.Text(text, maxShownWords) }
	e.Fault = secret.Text(e.Fault, maxFault)
	e.Method, e.Client = last.method.of(e.Method, shown), last.client.of(e.Client, shown)
	e.Name = last.name.of(e.Name, func(name string) string { return shown(secret.URI(name)) })
	if text, is := jsonrpc.Unquote(e.ID); is {
		e.ID = jsonrpc.AppendString(nil, shown(text))
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
	if e.Legacy {
		w.Bool("legacy", true)
	}
	words("transport", e.Transport)
	number("count", int64(e.Count))
	return w.Bytes()
}

// readMessage has the event say what its message does, of which it was not read more than was needed when it passed.
func (e *Event) readMessage() {
	if e.read = true; e.Kind == "" && !e.readKind() || e.of == nil {
		return
	}
	name, client := e.of.who()
	switch e.Kind {
	case Response, Error:
		if e.of.id != string(e.ID) {
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

// readKind reports whether the message is one.
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

// Failed reports whether the event says that something failed: a request, or a tool.
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
