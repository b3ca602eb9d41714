package streamable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp/internal/httplink"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
)

// met records that a tolerance was needed, at most once for the reply.
func (r *clientReply) met(t tolerance.Tolerance) {
	if r.named&(1<<t) == 0 {
		r.named |= 1 << t
		t.Met(r.scope.ctx, r.link.log, r.link.endpoint.Name, r.method)
	}
}

// notValid returns the error for a reply that is not valid JSON-RPC. A retry would have the same
// result.
func notValid(fault *jsonrpc.Error) error {
	return finalError{fmt.Errorf("the reply is not valid: %w", fault)}
}

// receive sorts one message or one batch in the reply. It returns the response, if the reply
// contains it. An error means that no part of the reply is a message, or that the response is
// invalid.
func (r *clientReply) receive(data []byte) (response *jsonrpc.Message, err error) {
	if !jsonrpc.IsBatch(data) {
		return r.receiveOne(data)
	}
	elements, odd, fault := pipe.SplitBatch(data, maxClientBatch)
	if fault != nil {
		return nil, notValid(fault)
	}
	var wrong error
	for _, element := range elements {
		m, err := r.receiveOne(bytes.Clone(element)) // copied, so that it does not keep the others in memory
		switch {
		case err != nil && r.isBroken(element):
			return nil, err
		case err != nil:
			r.met(tolerance.NotAMessage)
			wrong = err
		case m != nil:
			m.Odd |= odd
			response = m
		}
	}
	if response == nil {
		return nil, wrong
	}
	return response, nil
}

func (r *clientReply) receiveOne(data []byte) (*jsonrpc.Message, error) {
	m, fault := pipe.Parse(data)
	switch {
	case fault != nil:
		return nil, notValid(fault)
	case pipe.RespondsTo(&m, r.id):
		if m.ID != r.id && !m.ID.IsZero() {
			r.met(tolerance.OtherID)
		}
		m.ID = r.id
		return &m, nil
	case m.Kind == jsonrpc.Response:
		r.link.log.Debug("mcp: a response to another request", "server", r.link.endpoint.Name, "id", string(m.ID))
	case r.deliver != nil:
		r.deliver(&m)
	}
	return nil, nil
}

// isBroken reports whether invalid data are the response nevertheless, so that no other response
// follows. This includes a batch with the response and trailing data.
func (r *clientReply) isBroken(data []byte) bool {
	if jsonrpc.IsBatch(data) {
		end, ok := jsonrpc.SkipValue(data, jsonrpc.SkipSpace(data, 0))
		if !ok {
			return false
		}
		elements, _, fault := pipe.SplitBatch(data[:end], maxClientBatch)
		return fault == nil && slices.ContainsFunc(elements, func(e json.RawMessage) bool { return !jsonrpc.IsBatch(e) && (r.hasResponse(e) || r.isBroken(e)) })
	}
	m, fault := pipe.Parse(data)
	return fault != nil && !m.ID.IsZero() && pipe.RespondsTo(&jsonrpc.Message{Kind: jsonrpc.Response, ID: m.ID}, r.id) && pipe.LooksLikeResponse(data)
}

// receiveSeveral reads a body of JSON that is not just one message. It may contain several
// messages, or one message with trailing data. If the body consists of events, receiveSeveral reads
// the events. wrong is the error that reading the body as one message returned.
func (r *clientReply) receiveSeveral(resp *http.Response, body []byte, wrong error) (response *jsonrpc.Message, _ error) {
	if httplink.FormOf(body) == httplink.FormEvents {
		r.met(tolerance.ContentType)
		m, err := r.readStream(bytes.NewReader(body))
		if err == io.EOF {
			err = nil
		}
		return m, err
	}
	for n := range maxClientBatch {
		end, ok := jsonrpc.SkipValue(body, jsonrpc.SkipSpace(body, 0))
		if !ok || n == 0 && jsonrpc.SkipSpace(body, end) == len(body) { // reading the whole body has failed before
			break
		}
		m, err := r.receive(bytes.Clone(body[:end]))
		if err != nil {
			break
		}
		if m != nil && response != nil {
			return nil, finalError{fmt.Errorf("the reply has two responses with the id %s", r.id)}
		}
		if m != nil {
			response = m
		}
		body = body[end:]
	}
	if response == nil {
		return nil, wrong
	}
	r.met(tolerance.BehindMessage)
	return response, nil
}

// readStream reads events up to the response. If the stream ends before it, the error is io.EOF.
func (r *clientReply) readStream(body io.Reader) (*jsonrpc.Message, error) {
	return r.events.read(body, r.link.endpoint.MaxMessage, eventUse{
		take:    r.receiveEvent,
		whole:   r.isWhole,
		unended: func() { r.met(tolerance.UnendedEvent) },
	})
}

// receiveEvent sorts the data of one event. The flag again reports that the same event came before.
func (r *clientReply) receiveEvent(e eventstream.Event, again bool) (*jsonrpc.Message, error) {
	named := e.Name != "" && e.Name != onlyName
	if (again || named) && !r.hasResponse(e.Data) {
		if named {
			r.met(tolerance.NotAMessage)
		}
		return nil, nil
	}
	if named {
		r.met(tolerance.EventName)
	}
	m, err := r.receive(e.Data)
	if err == nil {
		return m, nil
	}
	if r.isBroken(e.Data) {
		return nil, err
	}
	if lines := pipe.MessageLines(e.Data); lines != nil {
		r.met(tolerance.JoinedEvents)
		for _, line := range lines {
			if m, err = r.receive(bytes.Clone(line)); m != nil || err != nil {
				return m, err
			}
		}
		return nil, nil
	}
	r.met(tolerance.NotAMessage)
	r.passed = err
	return nil, nil
}

// hasResponse reports whether data is the response, or contains it on a separate line. As the
// response is missing, the event cannot have come before.
func (r *clientReply) hasResponse(data []byte) bool {
	for _, line := range append(pipe.MessageLines(data), data) {
		if m, fault := pipe.Parse(line); fault == nil && pipe.RespondsTo(&m, r.id) {
			return true
		}
	}
	return false
}

// isWhole reports whether an event without its blank line contains the response. More data could
// then only make it invalid.
func (r *clientReply) isWhole(data []byte) bool {
	r.early = pipe.MayBeWhole(data) && r.hasResponse(data)
	return r.early
}
