package wire

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// maxErrorBody is the number of bytes that are read of an error response.
const maxErrorBody = 1 << 20

// A Complaint is an error of a provider, parsed from any of its forms.
type Complaint struct {
	Message, Code, Param string
	// Window is the model's window in tokens if the error has a member for it, and 0 otherwise.
	Window int
}

// responseError returns the error for a response that is not a message.
func (s *Service) responseError(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	c := parseComplaint(body)
	c.Message = cmp.Or(c.Message, http.StatusText(res.StatusCode))
	if res.StatusCode < 400 {
		c.Message = "redirects to " + res.Header.Get("Location") + "; set the base URL to where the service is"
	}
	err := s.failure(c, res.StatusCode)
	err.RetryAfter = RetryAfter(res.Header, time.Now())
	return err
}

// failure returns the error for a complaint, without the key. status is 0 for an error during a
// stream.
func (s *Service) failure(c Complaint, status int) *model.Error {
	text := c.Message
	if c.Param != "" && !strings.Contains(text, c.Param) {
		text += " (" + c.Param + ")"
	}
	failure := &model.Error{
		Provider: s.Provider, Status: status, Code: Text(c.Code, s.Key),
		Message: Text(text, s.Key), Err: causeOf(c, status),
	}
	if failure.Err == model.ErrWindow {
		failure.Window = windowOf(c)
	}
	return failure
}

// problem returns the error for an incomplete answer. It returns nil if the answer is complete,
// even if the connection failed after it. err is the error of reading.
func (s *Service) problem(ctx context.Context, a *Answer, err error) error {
	message := a.Fault
	switch {
	case a.Complaint != nil:
		failure := s.failure(*a.Complaint, 0)
		if failure.Err == nil {
			failure.Err = model.ErrBroken
		}
		return failure
	case a.Fault != "":
		err = nil
	case a.Begun && (a.Done || a.Reason != ""):
		return nil
	case err != nil:
		message = err.Error()
	case !a.Begun:
		message = "there was no message; check the base URL"
	default:
		message = "the stream ended without a reason to stop"
	}
	cause := error(model.ErrBroken)
	switch {
	case ctx.Err() != nil:
		cause = ctx.Err()
	case errors.Is(err, ErrIdle), errors.Is(err, ErrTooLarge):
		message = err.Error()
	}
	return &model.Error{Provider: s.Provider, Message: Text(message, s.Key), Err: cause}
}

// parseComplaint parses an error. Its forms are OpenAI's object, a list of it (Gemini), a text in
// its place (Ollama), its members at the top level (vLLM, Mistral, FastAPI), and plain text.
func parseComplaint(body []byte) Complaint {
	var v any
	if json.Unmarshal(body, &v) != nil {
		text := string(body)
		if strings.Contains(strings.ToLower(text[:min(len(text), 200)]), "<html") {
			text = "the response is an HTML page; check the base URL"
		}
		return Complaint{Message: text}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if text, is := v.(string); is {
		return Complaint{Message: text}
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
	// The type is more specific than a code that is a number.
	if name := firstText(inner, "type", "status"); name != "" && isNumber(c.Code) {
		c.Code = name
	}
	if c.Code == "error" { // only the type of the event
		c.Code = ""
	}
	if metadata, ok := inner["metadata"].(map[string]any); ok {
		if raw := firstText(metadata, "raw"); raw != "" {
			c.Message += ": " + raw
		}
	}
	return c
}

// firstText returns the first non-empty member.
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
	tooLong = lazy.Regexp(`(?i)context[ _](length|window|size|limit)|maximum (context|prompt|model) length|prompt is too long|input is too long|input length should be|exceeds the maximum number of (input )?tokens|input token count|reduce the length of the|exceed_context|exceed(s|ed)? (the )?(model's )?context|tokens to keep|too many (total text bytes|input tokens)|request_too_large`)
	noModel = lazy.Regexp(`(?i)^not_found_error .*\bmodel\b|model.{0,80}(not found|not exist|no such|not available)|(not found|no such|unknown|invalid) model\b|not a valid model`)
)

// codes maps unambiguous error codes of providers, in lower case, to errors.
var codes = map[string]error{
	"model_not_found":      model.ErrNoModel,
	"authentication_error": model.ErrUnauthorized, "permission_error": model.ErrUnauthorized,
	"rate_limit_exceeded": model.ErrRateLimited, "rate_limit_error": model.ErrRateLimited, "resource_exhausted": model.ErrRateLimited,
	"overloaded": model.ErrOverloaded, "overloaded_error": model.ErrOverloaded, "unavailable": model.ErrOverloaded, "server_overloaded": model.ErrOverloaded,
}

// causeOf returns the error of package model that classifies a complaint, or nil.
func causeOf(c Complaint, status int) error {
	if n, err := strconv.Atoi(c.Code); err == nil && status == 0 {
		status = n
	}
	text := c.Code + " " + c.Message
	switch {
	case codes[strings.ToLower(c.Code)] != nil:
		return codes[strings.ToLower(c.Code)]
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case (status == 0 || status == 400 || status == 413 || status == 422 || status == 500) && tooLong().MatchString(text):
		return model.ErrWindow
	case (status == http.StatusNotFound || status == http.StatusBadRequest) && noModel().MatchString(text):
		return model.ErrNoModel
	}
	return Sentinel(status)
}

// maxErrorText is the number of bytes of a provider's error that are reported.
const maxErrorText = 2 << 10

// Sentinel returns the error of package model for a status, or nil if the status does not suffice.
func Sentinel(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ErrUnauthorized
	case http.StatusTooManyRequests:
		return model.ErrRateLimited
	case http.StatusServiceUnavailable, 529:
		return model.ErrOverloaded
	}
	return nil
}

// RetryAfter returns the wait that the headers of a response request, or 0. It understands seconds,
// dates, and the milliseconds of some providers.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds > 0 && seconds < 1e6 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Text returns a provider's text for use in errors. It is shortened, and secrets are replaced,
// because some servers repeat them.
func Text(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return plaintext.Short(strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd"), maxErrorText)
}

// maxRefused is the number of refused tools and pictures that are remembered.
const maxRefused = 256

// remember stores the reason for a refusal, for the lifetime of l.
func (l *Learned) remember(what [sha256.Size]byte, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil || len(l.refused) >= maxRefused {
		l.refused = map[[sha256.Size]byte]string{}
	}
	l.refused[what] = why
}

// without removes the tools that were refused before.
func (l *Learned) without(tools []model.Tool) (taken []model.Tool, notes []model.Note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range tools {
		if why, refused := l.refused[fingerprint(&tools[i])]; refused {
			notes = append(notes, model.Note{Tool: tools[i].Name, SetAside: true, Text: why})
			continue
		}
		taken = append(taken, tools[i])
	}
	return taken, notes
}

func fingerprint(t *model.Tool) [sha256.Size]byte {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Schema)))
}

// Estimate estimates the tokens of a request and its answer, for a provider that does not count
// them.
func Estimate(req *model.Request, answer *model.Message) model.Usage {
	input, pictures := len(req.System), 0
	for i := range req.Messages {
		size, _ := sizeOf(&req.Messages[i])
		input += size
		pictures += picturesIn(req.Messages[i].Parts)
	}
	for i := range req.Tools {
		input += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	output, thought := sizeOf(answer)
	return model.Usage{
		Input: model.EstimateTokens(input) + pictures*model.PictureTokens, Output: model.EstimateTokens(output + thought),
		Reasoning: model.EstimateTokens(thought), Estimated: true,
	}
}

// sizeOf returns the number of bytes of a message; thought counts those of its reasoning.
func sizeOf(m *model.Message) (size, thought int) {
	for i := range m.Parts {
		p := &m.Parts[i]
		size += len(p.Text)
		if p.Call != nil {
			size += len(p.Call.Name) + len(p.Call.Raw)
			if string(p.Call.Arguments) != "{}" { // {} may be our replacement for an empty text
				size += len(p.Call.Arguments)
			}
		}
		if p.Result != nil {
			size += len(p.Result.Text())
		}
		if p.Reasoning != nil {
			thought += len(p.Reasoning.Text)
		}
	}
	return size, thought
}
