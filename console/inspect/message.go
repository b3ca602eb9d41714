package inspect

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/traffic"
)

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

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
)

// sees shows pages what went over the wire. The number of a request is that of its call in the traffic.
func (c *connection) sees(e *traffic.Event) {
	if e.Kind == traffic.Note {
		c.noted(e)
		return
	}
	shown := message{ToServer: e.ToServer, Kind: e.Kind, Method: e.Method, RPC: e.ID, Request: e.Call, Bytes: e.Size}
	m, fault := jsonrpc.Parse(e.Message, jsonrpc.Limits{})
	switch {
	case e.Kind == traffic.Failure:
		shown.Error = plaintext.Line(e.Fault, maxDetail)
	case fault != nil || len(e.Message) > maxOneEvent:
		shown.Text = string(e.Message[:min(len(e.Message), maxShownText)])
	default:
		shown.Message = e.Message
	}
	switch e.Kind {
	case traffic.Request:
		if e.ToServer {
			c.sent(e, shown.Message)
		}
	case traffic.Response, traffic.Error, traffic.Failure:
		if shown.Kind = traffic.Response; e.Method != "" {
			took := e.Took.Milliseconds()
			shown.Millis = &took
			c.answered(e, &m, fault)
		}
	}
	c.journal.add("message", shown)
	if e.Kind == traffic.Notification && !e.ToServer {
		c.journal.add("notification", notification{e.Method, bounded(m.Params), e.Call})
	}
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

// noted keeps with a request the forms that were read of what came for it, though the specification forbids them.
func (c *connection) noted(e *traffic.Event) {
	var n tolerance.Note
	if e.Note != note.Tolerance || json.Unmarshal(e.Message, &n) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.askedAs(e.Call); q != nil && len(q.met) < maxFindings {
		q.met = append(q.met, found(q, "", n.Where, n.Comes, "the author of the server must mend it; what is used: "+n.Used))
	}
}

// sent keeps the message of a page's request, and notes one that is a step of connecting.
func (c *connection) sent(e *traffic.Event, whole json.RawMessage) {
	c.mu.Lock()
	if q := c.askedAs(e.Call); q != nil && q.message == nil && e.Method == q.Method { // the first of each page or round
		q.message = slices.Clone(whole)
		c.held += len(whole)
	}
	a := c.attempt
	again := e.Method == methodInitialize && a.refused && !a.older && a.opened.Entry.URL != ""
	a.older = a.older || again
	c.mu.Unlock()
	if again {
		c.step("transport", true, e.Time, "Streamable HTTP was refused, so HTTP+SSE, which came before it, is tried")
	}
}

// answered notes that a request that is a step of connecting was answered, or not.
func (c *connection) answered(e *traffic.Event, m *jsonrpc.Message, fault *jsonrpc.Error) {
	step, era, speaks := "discover", "modern", ", and speaks "+string(m.Members.Get("supportedVersions"))
	switch e.Method {
	case methodDiscover:
	case methodInitialize:
		step, era, speaks = "initialize", "legacy", ", with revision "+string(m.Members.Get("protocolVersion"))
		c.mu.Lock()
		c.attempt.refused = e.Kind == traffic.Failure
		c.mu.Unlock()
	default:
		return
	}
	began := e.Time.Add(-e.Took)
	switch {
	case e.Kind == traffic.Failure:
		c.step(step, false, began, "%s, which %s servers answer, got none: %s", e.Method, era, e.Fault)
	case fault != nil:
	case m.Error != nil:
		c.step(step, false, began, "%s, which %s servers answer, was refused with %d: %s", e.Method, era, m.Error.Code, m.Error.Message)
	default:
		c.step(step, true, began, "the server answered %s: it is %s%s", e.Method, era, speaks)
	}
}

// transport is the transport of the server, in a word.
func (a *attempt) transport() string {
	switch e := a.opened.Entry; {
	case e.Command != "":
		return "stdio"
	case e.URL == "":
		return "stream"
	case a.older || e.Type == "sse":
		return "http+sse"
	}
	return "streamable-http"
}
