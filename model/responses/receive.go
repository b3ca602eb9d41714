package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// receive reads an answer to its end: a stream, or one JSON text of a server that
// does not stream. The Response is nil where nothing had come.
func (m *Model) receive(ctx context.Context, res *http.Response, req *model.Request, emit func(model.Delta), f *wire.Failures) (*model.Response, error) {
	a := &assembly{provider: m.provider, emit: emit, ids: wire.NewIDs(req), stops: req.Stop, byIndex: map[int]*item{}}
	read := a.readStream
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "application/json" || media == "text/html" {
		read = a.readWhole
	}
	err := read(res.Body)
	if a.stopped {
		a.complaint, a.status = nil, "completed"
	}
	err = f.Problem(ctx, wire.End{Complaint: a.complaint, Fault: a.fault, Begun: a.begun, Whole: a.status != ""}, err)
	if !a.begun {
		return nil, err
	}
	return a.response(req, err != nil), err
}

func (a *assembly) readStream(body io.Reader) error {
	return wire.Events(body, func(name string, data []byte) (bool, error) {
		switch {
		case bytes.HasPrefix(data, []byte("[DONE]")):
		case json.Valid(data):
			a.event(data)
		case name == "error":
			a.complaint = &wire.Complaint{Message: string(data)}
		default:
			return true, errors.New("an event of the stream is not valid JSON")
		}
		return a.status != "" || a.stopped || a.complaint != nil || a.fault != "", nil
	})
}

func (a *assembly) readWhole(body io.Reader) error {
	data, err := wire.Whole(body)
	if err != nil {
		return err
	}
	if jsonrpc.Get(data, "output") == nil {
		c := wire.ComplaintOf(data)
		a.complaint = &c
		return nil
	}
	a.end(data, "completed")
	return nil
}

// event takes in one event of a stream. Those that are not here repeat what others
// have said, or are of tools of the provider, whose items come whole.
func (a *assembly) event(data []byte) {
	index := wire.Number(data, "output_index")
	delta := wire.StringOf(data, "delta")
	switch kind := wire.StringOf(data, "type"); kind {
	case "response.output_item.added":
		a.open(index, jsonrpc.Get(data, "item"))
	case "response.output_item.done":
		a.close(index, jsonrpc.Get(data, "item"))
	case "response.output_text.delta":
		a.add(index, "message", delta)
	case "response.refusal.delta":
		a.refused = a.refused || delta != ""
		a.add(index, "message", delta)
	case "response.reasoning_summary_text.delta":
		a.think(index, wire.Number(data, "summary_index"), delta)
	case "response.reasoning_text.delta":
		a.think(index, wire.Number(data, "content_index"), delta)
	case "response.function_call_arguments.delta":
		a.add(index, "function_call", delta)
	case "response.completed", "response.incomplete", "response.failed":
		a.end(jsonrpc.Get(data, "response"), strings.TrimPrefix(kind, "response."))
	case "error":
		c := wire.ComplaintOf(data)
		if c.Code == "error" { // the event's own type
			c.Code = ""
		}
		a.complaint = &c
	default:
		a.note(jsonrpc.Get(data, "response"))
	}
}

// note takes in what a response says of itself.
func (a *assembly) note(response []byte) {
	if name := wire.StringOf(response, "model"); name != "" {
		a.name = name
	}
	u := jsonrpc.Get(response, "usage")
	input, output := wire.Number(u, "input_tokens"), wire.Number(u, "output_tokens")
	if input+output == 0 {
		return
	}
	details := jsonrpc.Get(u, "input_tokens_details")
	a.usage = &model.Usage{
		Input: input, Output: output,
		CacheRead: min(wire.Number(details, "cached_tokens"), input), CacheWrite: min(wire.Number(details, "cache_write_tokens"), input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "output_tokens_details"), "reasoning_tokens"), output),
	}
}

// end takes in the whole response, which ends the answer. Its items count where no
// event had any.
func (a *assembly) end(response []byte, status string) {
	a.note(response)
	a.status = wire.StringOf(response, "status")
	a.reason = wire.StringOf(jsonrpc.Get(response, "incomplete_details"), "reason")
	if a.status == "" {
		a.status = status
	}
	if fault := jsonrpc.Get(response, "error"); a.status == "failed" || len(fault) > 0 && fault[0] == '{' {
		c := wire.ComplaintOf(response)
		a.complaint = &c
	}
	if len(a.items) == 0 {
		index := 0
		jsonrpc.EachElement(jsonrpc.Get(response, "output"), func(raw []byte) bool {
			a.close(index, raw)
			index++
			return a.fault == "" && !a.stopped
		})
	}
	a.begun = a.begun || a.complaint == nil
}
