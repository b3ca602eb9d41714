package inspect

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
)

// maxOutstanding is how many requests that go over the wire are remembered until they are answered.
const maxOutstanding = 1_024

// A wire sees the messages of one attempt, and says so.
type wire struct {
	c    *connection
	http bool // the server is reached by a URL

	mu          sync.Mutex
	outstanding map[string]sent // by id and direction
	refused     bool            // initialize was not answered
	older       bool            // HTTP+SSE took the place of Streamable HTTP
}

// sent is a request that is not answered.
type sent struct {
	method  string
	at      time.Time
	request uint64 // of the page; 0: none
}

func newWire(c *connection) *wire { return &wire{c: c, outstanding: map[string]sent{}} }

// Watching is always so.
func (w *wire) Watching() bool { return true }

// A message is one that went over the wire.
type message struct {
	ToServer bool            `json:"toServer"`
	Kind     string          `json:"kind,omitempty"` // request, notification or response
	Method   string          `json:"method,omitempty"`
	RPC      json.RawMessage `json:"rpc,omitempty"`     // its id
	Request  uint64          `json:"request,omitempty"` // that it belongs to
	Message  json.RawMessage `json:"message,omitempty"`
	Text     string          `json:"text,omitempty"` // the beginning of one that is no JSON, or too large
	Bytes    int             `json:"bytes"`
	Millis   *int64          `json:"ms,omitempty"`    // of a response, since its request
	Error    string          `json:"error,omitempty"` // why no response came
}

// A notification is one of the server.
type notification struct {
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	Request uint64          `json:"request,omitempty"`
}

// Passes implements [mcp.Wire].
func (w *wire) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	shown := message{ToServer: m.ToServer, Request: requestOf(ctx), Bytes: len(m.Message)}
	if m.Err != nil {
		shown.Kind, shown.Error = "response", plaintext.Line(m.Err.Error(), maxDetail)
		id, _ := ctx.Value(sentKey{}).(string)
		w.answered(&shown, id, nil, m.Err)
		w.c.journal.add("message", shown)
		return ctx
	}
	parsed, fault := jsonrpc.Parse(m.Message, jsonrpc.Limits{})
	if fault != nil || len(m.Message) > maxOneEvent {
		shown.Text = string(m.Message[:min(len(m.Message), maxShownText)])
	} else {
		shown.Message = m.Message
	}
	if fault == nil {
		ctx = w.read(ctx, &shown, &parsed)
	}
	w.c.journal.add("message", shown)
	if parsed.Kind == jsonrpc.Notification && !m.ToServer {
		w.c.journal.add("notification", notification{parsed.Method, bounded(parsed.Params), shown.Request})
	}
	return ctx
}

// maxShownText is how many bytes are shown of a message that is no JSON, or too large.
const maxShownText = 64 << 10

// bounded is JSON that is not too large for an event; null in its place.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxOneEvent {
		return json.RawMessage("null")
	}
	return raw
}

type sentKey struct{}

// read completes what is shown of a message, and finds the request that it belongs to.
func (w *wire) read(ctx context.Context, shown *message, m *jsonrpc.Message) context.Context {
	shown.Kind, shown.Method = m.Kind.String(), m.Method
	if !m.ID.IsZero() {
		shown.RPC = json.RawMessage(m.ID)
	}
	switch {
	case m.Kind == jsonrpc.Request && shown.ToServer:
		w.mu.Lock()
		if len(w.outstanding) < maxOutstanding {
			w.outstanding[string(m.ID)] = sent{m.Method, time.Now(), shown.Request}
		}
		w.mu.Unlock()
		w.asked(m)
		if shown.Request != 0 {
			w.c.sentFor(shown.Request, shown.Message)
		}
		return context.WithValue(ctx, sentKey{}, string(m.ID))
	case m.Kind == jsonrpc.Response && !shown.ToServer:
		w.answered(shown, string(m.ID), m, nil)
	case m.Kind == jsonrpc.Notification && !shown.ToServer && shown.Request == 0:
		w.mu.Lock() // legacy servers repeat the id as the token
		shown.Request = w.outstanding[string(m.Members.Get("progressToken"))].request
		w.mu.Unlock()
	}
	return ctx
}

// asked notes a request to the server that is a step of connecting.
func (w *wire) asked(m *jsonrpc.Message) {
	if m.Method != "initialize" {
		return
	}
	w.mu.Lock()
	again := w.refused && !w.older && w.http
	w.older = w.older || again
	w.mu.Unlock()
	if again {
		w.c.step("transport", true, time.Now(), "Streamable HTTP was refused, so HTTP+SSE, which came before it, is tried")
	}
}

// answered notes that a request to the server was answered, or not.
func (w *wire) answered(shown *message, id string, m *jsonrpc.Message, err error) {
	w.mu.Lock()
	s, known := w.outstanding[id]
	delete(w.outstanding, id)
	if known && s.method == "initialize" {
		w.refused = err != nil
	}
	w.mu.Unlock()
	if !known {
		return
	}
	took := time.Since(s.at).Milliseconds()
	shown.Method, shown.Millis, shown.RPC = s.method, &took, json.RawMessage(id)
	if shown.Request == 0 {
		shown.Request = s.request
	}
	switch ok := err == nil && m.Error == nil; {
	case s.method == "server/discover" && ok:
		w.c.step("discover", true, s.at, "the server answered server/discover: it is modern, and speaks %s", m.Members.Get("supportedVersions"))
	case s.method == "server/discover" && err != nil:
		w.c.step("discover", false, s.at, "server/discover, which modern servers answer, got none: %v", err)
	case s.method == "server/discover":
		w.c.step("discover", false, s.at, "server/discover, which modern servers answer, was refused with %d: %s", m.Error.Code, m.Error.Message)
	case s.method == "initialize" && ok:
		w.c.step("initialize", true, s.at, "the server answered initialize: it is legacy, with revision %s", m.Members.Get("protocolVersion"))
	case s.method == "initialize" && err != nil:
		w.c.step("initialize", false, s.at, "initialize, which legacy servers answer, got none: %v", err)
	case s.method == "initialize":
		w.c.step("initialize", false, s.at, "initialize, which legacy servers answer, was refused with %d: %s", m.Error.Code, m.Error.Message)
	}
}

// kind is the transport, in a word.
func (w *wire) kind(e Entry) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Command != "":
		return "stdio"
	case e.URL == "":
		return "stream"
	case w.older || e.Type == "sse":
		return "http+sse"
	}
	return "streamable-http"
}
