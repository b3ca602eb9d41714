package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/model"
)

// Answer is an answer while it comes, as far as all wires have the same of it.
type Answer struct {
	Provider string
	Emit     func(model.Delta)
	IDs      *IDs
	Marked   bool // of a stream with nothing but [DONE] behind it, that is the end; other wires have an event for it

	Model   string       // under which it was answered
	Reason  string       // why the model stopped, as the provider calls it
	Usage   *model.Usage // nil while the provider has counted nothing
	Refused bool         // the model said so with more than the reason

	Begun     bool       // something of a message has come
	Done      bool       // its end has come; nothing more is read
	Fault     string     // why nothing more is read
	Complaint *Complaint // what the provider says instead
}

// Assembly puts an answer together, in the form of one wire. Both kinds of JSON are valid but for bytes that are no text.
type Assembly interface {
	Event(data []byte) // takes in an event of a stream
	Whole(data []byte) // takes in an answer that is no stream
	// Message is what all of it adds up to. Of an answer that broke off, or was cut, calls that are not complete are left out.
	Message(broken bool) model.Message
}

// Complain takes in what the provider says instead of an answer.
func (a *Answer) Complain(data []byte) {
	c := complaintOf(data)
	a.Complaint = &c
}

// Text emits a piece of the text.
func (a *Answer) Text(text string) {
	if text != "" {
		a.Emit(model.Delta{Text: text})
	}
}

// Reasoning emits a piece of what the model thought.
func (a *Answer) Reasoning(text string) {
	if text != "" {
		a.Emit(model.Delta{Reasoning: text})
	}
}

// Arguments emits a piece of the arguments of a call.
func (a *Answer) Arguments(call int, text string) {
	if text != "" {
		a.Emit(model.Delta{Call: &model.CallDelta{Index: call, Arguments: text}})
	}
}

// read reads an answer to its end: a stream, or one JSON text of a server that does not stream, which
// not all of these say.
func (a *Answer) read(res *http.Response, into Assembly) error {
	body := bufio.NewReader(res.Body)
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	first, _ := body.Peek(1)
	for len(first) == 1 && strings.IndexByte(" \t\r\n", first[0]) >= 0 && media == "application/json" { // behind which either may be
		_, _ = body.Discard(1)
		first, _ = body.Peek(1)
	}
	if len(first) == 0 || media == "text/event-stream" || isEvent(body) || media != "application/json" && strings.IndexByte("{[<", first[0]) < 0 {
		return a.readStream(body, into)
	}
	data, err := io.ReadAll(io.LimitReader(body, MaxEvent+1))
	switch {
	case err != nil:
		return err
	case len(data) > MaxEvent:
		return eventstream.ErrTooLarge
	case !json.Valid(data):
		return errors.New(complaintOf(data).Message)
	}
	into.Whole(bytes.TrimSpace(data))
	a.Done = true
	return nil
}

// isEvent reports whether a stream begins here, which some servers call JSON, as its events are.
func isEvent(body *bufio.Reader) bool {
	first, _ := body.Peek(len("event:"))
	return len(first) > 0 && first[0] == ':' || bytes.HasPrefix(first, []byte("data:")) || bytes.Equal(first, []byte("event:"))
}

// readStream takes in the events of a stream. Errors have several forms, of which one is an event of that
// name whose data may be no JSON.
func (a *Answer) readStream(body io.Reader, into Assembly) error {
	// Some servers forget the blank line behind the last event.
	events := eventstream.NewReader(io.MultiReader(body, strings.NewReader("\n\n")), MaxEvent)
	for !a.Done && a.Fault == "" && a.Complaint == nil {
		next, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch data := bytes.TrimSpace(next.Data); {
		case len(data) == 0:
		case bytes.HasPrefix(data, []byte("[DONE]")):
			a.Done = a.Done || a.Marked
			return nil
		case next.Name == "error" || bytes.HasPrefix(data, []byte(`{"error"`)) && !json.Valid(data):
			a.Complain(data)
		case json.Valid(data):
			into.Event(data)
		default:
			a.Fault = "an event of the stream is not valid JSON"
		}
	}
	return nil
}

// response is what came.
func (a *Answer) response(req *model.Request, message model.Message, broken bool) *model.Response {
	message.Role = model.RoleAssistant
	res := &model.Response{Model: a.Model, StopDetail: a.Reason, Message: message, Stop: model.StopOther}
	if !broken {
		res.Stop = a.stop(len(message.Calls()))
	}
	if a.Usage != nil {
		res.Usage = *a.Usage
	} else {
		res.Usage = Estimate(req, &res.Message)
	}
	return res
}

// stop translates the reason. Some servers say that it is done where they mean calls.
func (a *Answer) stop(calls int) model.StopReason {
	switch reason := strings.ToLower(a.Reason); {
	case a.Refused, strings.HasPrefix(reason, "content_filter"), reason == "safety", reason == "sensitive", reason == "refusal":
		return model.StopRefusal
	case a.IsCut():
		return model.StopLength
	case reason == "pause_turn":
		return model.StopPause
	case reason == "incomplete", reason == "cancelled":
		return model.StopOther
	case calls > 0:
		return model.StopCalls
	case reason == "", reason == "stop", reason == "eos", reason == "end_turn", reason == "stop_sequence", reason == "completed":
		return model.StopEnd
	}
	return model.StopOther
}

// IsCut reports whether the answer ended where the limit of tokens was reached.
func (a *Answer) IsCut() bool {
	switch strings.ToLower(a.Reason) {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return true
	}
	return false
}
