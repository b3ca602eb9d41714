package anthropic

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// maxErrorBody is how many bytes are read of an answer that is an error.
const maxErrorBody = 1 << 20

// failures turns what went wrong into errors without the key.
type failures struct{ key string }

// complaint is what the provider says in an error.
type complaint struct{ Message, Code string }

// complaintOf reads {"type":"error","error":{"type":…,"message":…}}, or whatever
// text a proxy wrote instead.
func complaintOf(body []byte) complaint {
	if jsonrpc.Valid(body, jsonrpc.Limits{}) != nil {
		text := string(body)
		if strings.Contains(strings.ToLower(text[:min(len(text), 200)]), "<html") {
			text = "an HTML page came instead of an answer; is the base URL right?"
		}
		return complaint{Message: text}
	}
	inner := jsonrpc.Get(body, "error")
	if text, ok := jsonrpc.Unquote(inner); ok {
		return complaint{Message: text}
	}
	if inner == nil {
		inner = body
	}
	c := complaint{Message: stringOf(inner, "message"), Code: stringOf(inner, "type")}
	if c.Message == "" {
		c.Message = string(body)
	}
	return c
}

// of is the error for a complaint; the status is 0 in the middle of a stream.
func (f *failures) of(c complaint, status int) *model.Error {
	return &model.Error{
		Provider: Provider, Status: status, Code: wire.Text(c.Code, f.key),
		Message: wire.Text(c.Message, f.key), Err: sentinel(c, status),
	}
}

// answered is the error for an answer that is no message.
func (f *failures) answered(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	c := complaintOf(body)
	switch {
	case res.StatusCode < 400:
		c.Message = "redirects to " + res.Header.Get("Location") + "; set the base URL to where the service is"
	case strings.TrimSpace(c.Message) == "":
		c.Message = http.StatusText(res.StatusCode)
	}
	e := f.of(c, res.StatusCode)
	e.RetryAfter = wire.RetryAfter(res.Header, time.Now())
	return e
}

// unsent is the error for a request to which no answer came.
func (f *failures) unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &model.Error{Provider: Provider, Err: err}
}

// broken is the error for an answer that ended too early.
func (f *failures) broken(ctx context.Context, message string, err error) *model.Error {
	return wire.Broken(ctx, Provider, f.key, message, err)
}

var tooLong = regexp.MustCompile(`(?i)prompt is too long|exceed(s|ed)? (the )?(context|model's context)|context (limit|window|length)|too many total text bytes|request_too_large`)

// sentinel is what callers branch on.
func sentinel(c complaint, status int) error {
	switch c.Code {
	case "authentication_error", "permission_error":
		return model.ErrUnauthorized
	case "rate_limit_error":
		return model.ErrRateLimited
	case "overloaded_error":
		return model.ErrOverloaded
	case "not_found_error":
		return model.ErrNoModel
	case "request_too_large":
		return model.ErrWindow
	}
	if (status == 0 || status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge) && tooLong.MatchString(c.Message) {
		return model.ErrWindow
	}
	return wire.Sentinel(status)
}
