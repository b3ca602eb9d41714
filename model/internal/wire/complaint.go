package wire

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/model"
)

// maxErrorBody is how many bytes are read of an answer that is an error.
const maxErrorBody = 1 << 20

// Failures turns what went wrong with a service into errors without the key.
type Failures struct {
	Provider, Key string
	// Cause returns which of model's errors a complaint is; nil means as services
	// that speak like OpenAI say it.
	Cause func(c Complaint, status int) error
}

// Complaint is what a provider says in an error, whatever form it has.
type Complaint struct {
	Message, Code, Param string
	// Window is the number of tokens that the model takes, where a member has it.
	Window int
}

// Answered is the error for an answer that is not a message.
func (f *Failures) Answered(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	c := ComplaintOf(body)
	if c.Message == "" {
		c.Message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode < 400 {
		c.Message = "redirects to " + res.Header.Get("Location") + "; set the base URL to where the service is"
	}
	err := f.Of(c, res.StatusCode)
	err.RetryAfter = RetryAfter(res.Header, time.Now())
	return err
}

// Of is the error for a complaint; the status is 0 in the middle of a stream.
func (f *Failures) Of(c Complaint, status int) *model.Error {
	text := c.Message
	if c.Param != "" && !strings.Contains(text, c.Param) {
		text += " (" + c.Param + ")"
	}
	cause := f.Cause
	if cause == nil {
		cause = causeOf
	}
	failure := &model.Error{
		Provider: f.Provider, Status: status, Code: Text(c.Code, f.Key),
		Message: Text(text, f.Key), Err: cause(c, status),
	}
	if failure.Err == model.ErrWindow {
		failure.Window = windowOf(c)
	}
	return failure
}

// End is how an answer ended.
type End struct {
	Complaint *Complaint // what the provider says instead
	Fault     string     // why nothing more was read
	Begun     bool       // something of it has come
	Whole     bool       // its end has come
}

// Problem says why an answer is not whole; nil if it is, whatever became of the
// connection then. The error is that of reading.
func (f *Failures) Problem(ctx context.Context, e End, err error) error {
	message := e.Fault
	switch {
	case e.Complaint != nil:
		failure := f.Of(*e.Complaint, 0)
		if failure.Err == nil {
			failure.Err = model.ErrBroken
		}
		return failure
	case e.Fault != "":
		err = nil
	case e.Begun && e.Whole:
		return nil
	case err != nil:
		message = err.Error()
	case !e.Begun:
		message = "no message came; is the base URL right?"
	default:
		message = "the stream ended without a reason to stop"
	}
	return broken(ctx, f.Provider, f.Key, message, err)
}

// ComplaintOf reads an error: OpenAI's form, a list of it (Gemini), a text in its
// place (Ollama), the members at the top (vLLM, Mistral, FastAPI), or plain text.
func ComplaintOf(body []byte) Complaint {
	var v any
	if json.Unmarshal(body, &v) != nil {
		text := string(body)
		if strings.Contains(strings.ToLower(text[:min(len(text), 200)]), "<html") {
			text = "an HTML page came instead of an answer; is the base URL right?"
		}
		return Complaint{Message: text}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return Complaint{Message: string(body)}
	}
	inner, ok := top["error"].(map[string]any)
	if !ok {
		inner = top
	}
	c := Complaint{
		Message: firstText(inner, "message", "error", "detail", "msg"),
		Code:    firstText(inner, "code", "type", "status"),
		Param:   firstText(inner, "param"),
	}
	if n, err := strconv.Atoi(firstText(inner, "n_ctx")); err == nil { // llama.cpp
		c.Window = n
	}
	// A status as the code says less than the name next to it.
	if name := firstText(inner, "type", "status"); name != "" && isNumber(c.Code) {
		c.Code = name
	}
	if metadata, ok := inner["metadata"].(map[string]any); ok {
		if raw := firstText(metadata, "raw"); raw != "" {
			c.Message += ": " + raw
		}
	}
	return c
}

// firstText is the first of the members that says something.
func firstText(object map[string]any, names ...string) string {
	for _, name := range names {
		switch v := object[name].(type) {
		case nil:
		case string:
			if v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		default:
			if text, err := json.Marshal(v); err == nil {
				return string(text)
			}
		}
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

var (
	tooLong = regexp.MustCompile(`(?i)context[ _](length|window|size)|maximum (context|prompt|model) length|prompt is too long|input is too long|input length should be|exceeds the maximum number of (input )?tokens|input token count|reduce the length of the|exceed_context|tokens to keep|too many input tokens`)
	noModel = regexp.MustCompile(`(?i)model.{0,80}(not found|not exist|no such|not available)|(not found|no such|unknown|invalid) model\b|not a valid model`)
)

// causeOf is what callers branch on.
func causeOf(c Complaint, status int) error {
	if status == 0 {
		status = inStream(c.Code)
	}
	text := c.Code + " " + c.Message
	switch {
	case status == http.StatusNotFound && noModel.MatchString(text), c.Code == "model_not_found":
		return model.ErrNoModel
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case (status == 0 || status == 400 || status == 413 || status == 422 || status == 500) && tooLong.MatchString(text):
		return model.ErrWindow
	case status == http.StatusBadRequest && noModel.MatchString(text):
		return model.ErrNoModel
	}
	return Sentinel(status)
}

// inStream is the status that a code in the middle of a stream stands for.
func inStream(code string) int {
	if n, err := strconv.Atoi(code); err == nil {
		return n
	}
	switch strings.ToLower(code) {
	case "rate_limit_exceeded", "rate_limit_error", "resource_exhausted":
		return http.StatusTooManyRequests
	case "overloaded", "overloaded_error", "unavailable", "server_overloaded":
		return http.StatusServiceUnavailable
	}
	return 0
}
