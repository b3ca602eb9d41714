package middleware

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

// Limits of what one line holds.
const (
	maxText        = 200   // characters of a name or an error
	defaultPayload = 4_096 // bytes of params and of a result
)

// LogOptions are optional; the zero value of each field means its default.
type LogOptions struct {
	// Logger gets a record for each request, when it has ended, with the request's
	// context; default slog.Default().
	Logger *slog.Logger
	// Level chooses the level; err is the Handler's error or nil. Default [LogLevel].
	Level func(outcome mcp.Outcome, err error) slog.Level
	// Payload adds what was asked and what was answered, which are full of what
	// nobody wants in a log: see Redact.
	Payload bool
	// Redact is shown params and results, one JSON object each, before they are
	// logged, and returns what is; nil for nothing. It must not change data.
	Redact func(req *mcp.Request, data json.RawMessage) json.RawMessage
	// MaxPayload is how many bytes of either are logged; default 4,096.
	MaxPayload int
}

// Log returns middleware that logs every request with these attributes, those
// that are empty omitted:
//
//	method, name      what was asked; a URI without user information and query
//	client, subject   who asked: the software, which anybody can claim to be,
//	                  and the authenticated principal
//	revision          of the protocol, on the wire
//	outcome           an [mcp.Outcome]
//	code, error       of a protocol error; the error's text only where the fault
//	                  is not the client's, as other texts quote what it sent
//	duration          of the Handler
//	params_bytes, result_bytes
//	params, result    where LogOptions.Payload is set
//
// A subscription is logged when it ends.
func Log(o LogOptions) mcp.Middleware {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Level == nil {
		o.Level = LogLevel
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = defaultPayload
	}
	return func(next mcp.Handler) mcp.Handler {
		// The library has no event.Tap, and of a request one record is made.
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			begin := time.Now()
			result, err := next.Handle(ctx, req)
			took := time.Since(begin)
			outcome := mcp.OutcomeOf(ctx, &result, err)
			level := o.Level(outcome, err)
			if !o.Logger.Enabled(ctx, level) {
				return result, err
			}
			attrs := make([]slog.Attr, 0, 14)
			attrs = appendRequest(attrs, req)
			attrs = append(attrs, slog.String("outcome", string(outcome)))
			attrs = appendError(attrs, outcome, err)
			attrs = append(attrs, slog.Duration("duration", took), slog.Int("params_bytes", len(req.Params)))
			attrs = o.appendResult(attrs, req, &result, err)
			o.Logger.LogAttrs(ctx, level, "mcp request", attrs...)
			return result, err
		})
	}
}

// LogLevel is the level of a request by default: error where the server failed,
// warning where a tool failed or the client asked for something that is wrong,
// info for the rest.
func LogLevel(outcome mcp.Outcome, err error) slog.Level {
	switch {
	case outcome == mcp.OutcomeError && mcp.ErrorOf(err).Code == mcp.CodeInternalError:
		return slog.LevelError
	case outcome == mcp.OutcomeError, outcome == mcp.OutcomeToolError:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func appendRequest(attrs []slog.Attr, req *mcp.Request) []slog.Attr {
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, plaintext.Line(value, maxText)))
		}
	}
	text("method", req.Method)
	if revision.MethodNamed(req.Method).Kind == revision.OfResource {
		text("name", plaintext.Line(redact.URI(req.Name), maxText))
	} else {
		text("name", req.Name)
	}
	if c := req.Meta.Client; c != nil {
		text("client", c.Name+"/"+c.Version)
	}
	if req.Principal != nil {
		text("subject", req.Principal.Subject)
	}
	text("revision", req.Meta.Revision)
	return attrs
}

func appendError(attrs []slog.Attr, outcome mcp.Outcome, err error) []slog.Attr {
	if outcome != mcp.OutcomeError {
		return attrs
	}
	code := mcp.ErrorOf(err).Code
	attrs = append(attrs, slog.Int("code", code))
	if code == mcp.CodeInternalError {
		attrs = append(attrs, slog.String("error", plaintext.Line(redact.Text(err.Error(), maxText), maxText)))
	}
	return attrs
}

// appendResult says how large the result is. It is encoded for that, once: what
// sends it finds it encoded.
func (o *LogOptions) appendResult(attrs []slog.Attr, req *mcp.Request, result *mcp.Result, err error) []slog.Attr {
	if o.Payload {
		attrs = o.appendPayload(attrs, "params", req, req.Params)
	}
	if err != nil {
		return attrs
	}
	body, err := result.Encoded()
	if err != nil {
		return append(attrs, slog.String("error", plaintext.Line("the result cannot be encoded: "+err.Error(), maxText)))
	}
	result.JSON = body
	attrs = append(attrs, slog.Int("result_bytes", len(body)))
	if o.Payload {
		attrs = o.appendPayload(attrs, "result", req, body)
	}
	return attrs
}

func (o *LogOptions) appendPayload(attrs []slog.Attr, key string, req *mcp.Request, data json.RawMessage) []slog.Attr {
	if o.Redact != nil && len(data) > 0 {
		data = o.Redact(req, data)
	}
	if len(data) == 0 {
		return attrs
	}
	return append(attrs, slog.String(key, plaintext.Line(string(data), o.MaxPayload)))
}
