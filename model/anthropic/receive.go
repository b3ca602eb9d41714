package anthropic

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// receive reads an answer to its end. The Response is nil where nothing had come.
func receive(ctx context.Context, res *http.Response, emit func(model.Delta), f *wire.Failures) (*model.Response, error) {
	a := &assembly{emit: emit, byIndex: map[int64]*piece{}}
	var err error
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		err = a.readWhole(res.Body)
	} else {
		err = a.readStream(res.Body)
	}
	// It is whole when its reason to stop has come.
	end := wire.End{Complaint: a.complaint, Fault: a.fault, Begun: a.begun, Whole: a.done || a.reason != ""}
	failed := f.Problem(ctx, end, err)
	if !a.begun {
		return nil, failed
	}
	return a.response(failed != nil), failed
}

// readStream takes in the events of a stream. The name of an event is found in its
// data, as some servers leave out the line that has it.
func (a *assembly) readStream(body io.Reader) error {
	return wire.Events(body, func(_ string, data []byte) (bool, error) {
		if fault := jsonrpc.Valid(data, jsonrpc.Limits{}); fault != nil {
			a.fault = "an event of the stream is not valid JSON: " + fault.Message
		} else {
			a.event(data)
		}
		return a.done || a.complaint != nil || a.fault != "", nil
	})
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
	a.reason = wire.StringOf(raw, "stop_reason")
	a.done = true
	return nil
}

// event takes in one event.
func (a *assembly) event(data []byte) {
	index, _ := strconv.ParseInt(string(jsonrpc.Get(data, "index")), 10, 64)
	switch wire.StringOf(data, "type") {
	case "message_start":
		a.start(jsonrpc.Get(data, "message"))
	case "content_block_start":
		a.startBlock(index, jsonrpc.Get(data, "content_block"))
	case "content_block_delta":
		a.delta(index, jsonrpc.Get(data, "delta"))
	case "content_block_stop":
		a.stopBlock(index)
	case "message_delta":
		if reason := wire.StringOf(jsonrpc.Get(data, "delta"), "stop_reason"); reason != "" {
			a.reason = reason
		}
		a.count(jsonrpc.Get(data, "usage"))
	case "message_stop":
		a.done = true
	case "error":
		c := wire.ComplaintOf(data)
		a.complaint = &c
	}
}

func (a *assembly) start(message []byte) {
	a.begun = true
	a.name = wire.StringOf(message, "model")
	a.count(jsonrpc.Get(message, "usage"))
}

// count takes in a count of tokens. Later ones are of the whole message, and leave
// out what has not changed.
func (a *assembly) count(raw []byte) {
	if len(raw) == 0 {
		return
	}
	a.counted = true
	a.read = max(a.read, wire.Number(raw, "cache_read_input_tokens"))
	a.write = max(a.write, wire.Number(raw, "cache_creation_input_tokens"))
	a.input = max(a.input, wire.Number(raw, "input_tokens"))
	a.output = max(a.output, wire.Number(raw, "output_tokens"))
	a.thought = max(a.thought, wire.Number(jsonrpc.Get(raw, "output_tokens_details"), "thinking_tokens"))
}
