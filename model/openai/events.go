package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxEvent is how many bytes one event of a stream, or an answer that is no
// stream, may have.
const maxEvent = 16 << 20

// events reads an answer for the library's stream, instead of its own decoder,
// which takes an event without data for broken, "error": null for an error, and
// an answer that is no stream for nothing.
type events struct {
	body   io.ReadCloser
	reader *eventstream.Reader
	whole  *bufio.Reader // an answer that is no stream
	event  ssestream.Event
	err    error
	done   bool // the stream said that it is
}

var _ ssestream.Decoder = (*events)(nil)

func newEvents(res *http.Response) *events {
	e := &events{body: res.Body}
	buffered := bufio.NewReader(res.Body)
	if isWhole(res, buffered) {
		e.whole = buffered
		return e
	}
	// Some servers forget the blank line behind the last event.
	e.reader = eventstream.NewReader(io.MultiReader(buffered, strings.NewReader("\n\n")), maxEvent)
	return e
}

// isWhole says whether an answer is one JSON text, or a page: servers that cannot
// stream do not always say so.
func isWhole(res *http.Response, body *bufio.Reader) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media == "text/event-stream" {
		return false
	}
	first, _ := body.Peek(1)
	return len(first) == 1 && (first[0] == '{' || first[0] == '[' || first[0] == '<')
}

// Next reads the next event that has data.
func (e *events) Next() bool {
	if e.err != nil || e.done {
		return false
	}
	if e.whole != nil {
		return e.answer()
	}
	for {
		next, err := e.reader.Next()
		if err != nil {
			e.end(err)
			return false
		}
		data := bytes.TrimSpace(next.Data)
		if len(data) == 0 {
			continue
		}
		e.done = bytes.HasPrefix(data, []byte("[DONE]"))
		e.event = ssestream.Event{Type: next.Name, Data: e.plain(next.Name, data)}
		return true
	}
}

// plain is an event as the library expects it.
func (e *events) plain(name string, data []byte) []byte {
	if !json.Valid(data) {
		if name == "error" {
			return fmt.Appendf(nil, `{"error":{"message":%s}}`, jsonrpc.AppendStringBytes(nil, data))
		}
		return data
	}
	fault := jsonrpc.Get(data, "error")
	switch {
	case name == "error" && len(fault) == 0:
		return fmt.Appendf(nil, `{"error":%s}`, data)
	case string(fault) == "null":
		return jsonrpc.Without(data, "error")
	}
	return data
}

// answer reads an answer that is no stream, and makes it one event.
func (e *events) answer() bool {
	data, err := io.ReadAll(io.LimitReader(e.whole, maxEvent+1))
	switch {
	case err != nil:
		e.end(err)
	case len(data) > maxEvent:
		e.end(eventstream.ErrTooLarge)
	case !json.Valid(data):
		e.end(errors.New(complaintOf(data).message))
	default:
		e.done = true
		e.event = ssestream.Event{Data: streamed(data)}
		return true
	}
	return false
}

// streamed turns a whole answer into what its only event would be: the message of
// a choice is called delta there.
func streamed(data []byte) []byte {
	if jsonrpc.Get(data, "choices") == nil {
		c := complaintOf(data)
		return fmt.Appendf(nil, `{"error":{"message":%s,"code":%s}}`, jsonrpc.AppendString(nil, c.message), jsonrpc.AppendString(nil, c.code))
	}
	choices := []byte("[")
	jsonrpc.EachElement(jsonrpc.Get(data, "choices"), func(choice []byte) bool {
		if len(choices) > 1 {
			choices = append(choices, ',')
		}
		message := jsonrpc.Get(choice, "message")
		if message == nil {
			message = []byte("{}")
		}
		choices = append(choices, jsonrpc.With(jsonrpc.Without(choice, "message"), "delta", message)...)
		return true
	})
	return jsonrpc.With(data, "choices", append(choices, ']'))
}

func (e *events) end(err error) {
	if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.err = err
	}
}

// Event returns the event that Next read.
func (e *events) Event() ssestream.Event { return e.event }

// Err returns why there is no next event; nil at the end of the stream.
func (e *events) Err() error { return e.err }

// Close ends the reading.
func (e *events) Close() error { return e.body.Close() }
