package anthropic

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// receive reads an answer to its end. The Response is nil where nothing had come.
func receive(ctx context.Context, res *http.Response, emit func(model.Delta), f *failures) (*model.Response, error) {
	a := &assembly{emit: emit, byIndex: map[int64]*piece{}}
	var err error
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		err = a.readWhole(res.Body)
	} else {
		err = a.readStream(res)
	}
	failed := a.problem(ctx, err, f)
	if !a.begun {
		return nil, failed
	}
	return a.response(failed != nil), failed
}

// readStream takes in the events of a stream. The name of an event is found in its
// data, as some servers leave out the line that has it.
func (a *assembly) readStream(res *http.Response) error {
	events := ssestream.NewDecoder(res)
	defer events.Close()
	for !a.done && a.complaint == nil && a.fault == "" && events.Next() {
		data := events.Event().Data
		if len(strings.TrimSpace(string(data))) == 0 {
			continue
		}
		if fault := jsonrpc.Valid(data, jsonrpc.Limits{}); fault != nil {
			a.fault = "an event of the stream is not valid JSON: " + fault.Message
			continue
		}
		a.event(data)
	}
	return events.Err()
}

// readWhole takes in a message that came in one piece, from a server that does not stream.
func (a *assembly) readWhole(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if fault := jsonrpc.Valid(raw, jsonrpc.Limits{}); fault != nil {
		a.fault = "the answer is not valid JSON: " + fault.Message
		return nil
	}
	if string(jsonrpc.Get(raw, "type")) != `"message"` {
		a.event(raw)
		return nil
	}
	a.start(raw)
	var i int64
	jsonrpc.EachElement(jsonrpc.Get(raw, "content"), func(content []byte) bool {
		a.startBlock(i, content)
		a.stopBlock(i)
		i++
		return len(a.pieces) < maxBlocks
	})
	a.reason = stringOf(raw, "stop_reason")
	a.done = true
	return nil
}

// event takes in one event.
func (a *assembly) event(data []byte) {
	index, _ := strconv.ParseInt(string(jsonrpc.Get(data, "index")), 10, 64)
	switch stringOf(data, "type") {
	case "message_start":
		a.start(jsonrpc.Get(data, "message"))
	case "content_block_start":
		a.startBlock(index, jsonrpc.Get(data, "content_block"))
	case "content_block_delta":
		a.delta(index, jsonrpc.Get(data, "delta"))
	case "content_block_stop":
		a.stopBlock(index)
	case "message_delta":
		if reason := stringOf(jsonrpc.Get(data, "delta"), "stop_reason"); reason != "" {
			a.reason = reason
		}
		a.count(jsonrpc.Get(data, "usage"))
	case "message_stop":
		a.done = true
	case "error":
		c := complaintOf(data)
		a.complaint = &c
	}
}

func (a *assembly) start(message []byte) {
	a.begun = true
	a.name = stringOf(message, "model")
	a.count(jsonrpc.Get(message, "usage"))
}

// count takes in a count of tokens. Later ones are of the whole message, and leave
// out what has not changed.
func (a *assembly) count(raw []byte) {
	if len(raw) == 0 {
		return
	}
	a.counted = true
	a.read = max(a.read, number(raw, "cache_read_input_tokens"))
	a.write = max(a.write, number(raw, "cache_creation_input_tokens"))
	a.input = max(a.input, number(raw, "input_tokens"))
	a.output = max(a.output, number(raw, "output_tokens"))
	a.thought = max(a.thought, number(jsonrpc.Get(raw, "output_tokens_details"), "thinking_tokens"))
}

// number is the count that a member holds; 0 if it holds none.
func number(raw []byte, name string) int {
	n, err := strconv.Atoi(string(jsonrpc.Get(raw, name)))
	if err != nil {
		return 0
	}
	return n
}

// problem says why an answer is not whole; nil if it is. It is whole when its
// reason to stop has come, whatever became of the connection then.
func (a *assembly) problem(ctx context.Context, err error, f *failures) error {
	switch {
	case a.complaint != nil:
		e := f.of(*a.complaint, 0)
		if e.Err == nil {
			e.Err = model.ErrBroken
		}
		return e
	case a.fault != "":
		return f.broken(ctx, a.fault, nil)
	case a.begun && (a.done || a.reason != ""):
		return nil
	case err != nil:
		return f.broken(ctx, err.Error(), err)
	case !a.begun:
		return f.broken(ctx, "no message came; is the base URL right?", nil)
	}
	return f.broken(ctx, "the stream ended without a reason to stop", nil)
}

// stringOf is the text of a member; "" if it has none.
func stringOf(raw []byte, name string) string {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(raw, name))
	return text
}
