package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// readStream takes in the events of a stream.
func (a *assembly) readStream(body io.Reader) error {
	return wire.Events(body, func(name string, data []byte) (bool, error) {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			a.done = true
			return true, nil
		}
		err := a.event(name, data)
		return a.fault != "" || a.complaint != nil, err
	})
}

// event takes in one event. Errors have several forms, of which one is an event
// of that name whose data may be no JSON.
func (a *assembly) event(name string, data []byte) error {
	var valid json.RawMessage
	if err := json.Unmarshal(data, &valid); err != nil {
		if name == "error" || bytes.HasPrefix(data, []byte(`{"error"`)) {
			a.complaint = &wire.Complaint{Message: string(data)}
			return nil
		}
		return err
	}
	switch fault := jsonrpc.Get(data, "error"); {
	case name == "error" && fault == nil:
		a.complain(fmt.Appendf(nil, `{"error":%s}`, data))
	case fault != nil && string(fault) != "null":
		a.complain(data)
	default:
		a.chunk(data, "delta")
	}
	return nil
}

func (a *assembly) complain(data []byte) {
	c := wire.ComplaintOf(data)
	a.complaint = &c
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

// readWhole takes in an answer that is no stream: the message of a choice is not
// called delta there.
func (a *assembly) readWhole(body io.Reader) error {
	data, err := wire.Whole(body)
	if err != nil {
		return err
	}
	a.done = true
	if jsonrpc.Get(data, "choices") == nil {
		a.complain(data)
		return nil
	}
	a.chunk(data, "message")
	return nil
}
