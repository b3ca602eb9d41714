package openai

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
	"github.com/junction-mcp/junction/model/internal/wire"
)

// maxErrorBody is how many bytes are read of an answer that is an error.
const maxErrorBody = 1 << 20

// failures turns what went wrong into errors without the key.
type failures struct{ provider, key string }

// complaint is what a provider says in an error, whatever form it has.
type complaint struct {
	message, code, param string
}

// answered is the error for an answer that is not a message.
func (f *failures) answered(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	c := complaintOf(body)
	if c.message == "" {
		c.message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode < 400 {
		c.message = "redirects to " + res.Header.Get("Location") + "; set the base URL to where the service is"
	}
	err := f.of(c, res.StatusCode)
	err.RetryAfter = wire.RetryAfter(res.Header, time.Now())
	return err
}

// of is the error for a complaint; the status is 0 in the middle of a stream.
func (f *failures) of(c complaint, status int) *model.Error {
	text := c.message
	if c.param != "" && !strings.Contains(text, c.param) {
		text += " (" + c.param + ")"
	}
	return &model.Error{
		Provider: f.provider, Status: status, Code: wire.Text(c.code, f.key),
		Message: wire.Text(text, f.key), Err: sentinel(c, status),
	}
}

// unsent is the error for a request to which no answer came.
func (f *failures) unsent(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return &model.Error{Provider: f.provider, Err: ctx.Err()}
	case err == nil:
		err = model.ErrBroken
	}
	return &model.Error{Provider: f.provider, Err: err}
}

// broken is the error for an answer that ended too early.
func (f *failures) broken(ctx context.Context, message string, err error) *model.Error {
	return wire.Broken(ctx, f.provider, f.key, message, err)
}

// complaintOf reads an error: OpenAI's form, a list of it (Gemini), a text in its
// place (Ollama), the members at the top (vLLM, Mistral, FastAPI), or plain text.
func complaintOf(body []byte) complaint {
	var v any
	if json.Unmarshal(body, &v) != nil {
		text := string(body)
		if strings.Contains(strings.ToLower(text[:min(len(text), 200)]), "<html") {
			text = "an HTML page came instead of an answer; is the base URL right?"
		}
		return complaint{message: text}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return complaint{message: string(body)}
	}
	inner, ok := top["error"].(map[string]any)
	if !ok {
		inner = top
	}
	c := complaint{
		message: firstText(inner, "message", "error", "detail", "msg"),
		code:    firstText(inner, "code", "type", "status"),
		param:   firstText(inner, "param"),
	}
	// A status as the code says less than the name next to it.
	if name := firstText(inner, "type", "status"); name != "" && isNumber(c.code) {
		c.code = name
	}
	if metadata, ok := inner["metadata"].(map[string]any); ok {
		if raw := firstText(metadata, "raw"); raw != "" {
			c.message += ": " + raw
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
	tooLong = regexp.MustCompile(`(?i)context[ _](length|window|size)|maximum context|prompt is too long|input is too long|input length should be|exceeds the maximum number of (input )?tokens|input token count|reduce the length of the|exceed_context|tokens to keep|too many input tokens`)
	noModel = regexp.MustCompile(`(?i)model.{0,80}(not found|not exist|no such|not available)|(not found|no such|unknown|invalid) model\b|not a valid model`)
)

// sentinel is what callers branch on.
func sentinel(c complaint, status int) error {
	if status == 0 {
		status = inStream(c.code)
	}
	text := c.code + " " + c.message
	switch {
	case status == http.StatusNotFound && noModel.MatchString(text), c.code == "model_not_found":
		return model.ErrNoModel
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case (status == 0 || status == 400 || status == 413 || status == 422 || status == 500) && tooLong.MatchString(text):
		return model.ErrWindow
	case status == http.StatusBadRequest && noModel.MatchString(text):
		return model.ErrNoModel
	}
	return wire.Sentinel(status)
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
