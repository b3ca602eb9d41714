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

// Limits of the contents of one line.
const (
	maxText        = 200   // characters of a name or an error
	defaultPayload = 4_096 // bytes of params and of a result
)

// LogOptions are optional; the zero value of each field means its default.
type LogOptions struct {
	// Logger receives a record for each request when it has ended, with the request's context. The
	// default is slog.Default().
	Logger *slog.Logger
	// Level returns the level of a record; err is the Handler's error or nil. The default is
	// [LogLevel].
	Level func(outcome mcp.Outcome, err error) slog.Level
	// Payload adds parameters and results. They often contain data that does not belong in a log;
	// see Redact.
	Payload bool
	// Redact receives params and results, one JSON object each, and returns the text to log, or nil
	// for none. It must not change data.
	Redact func(req *mcp.Request, data json.RawMessage) json.RawMessage
	// MaxPayload is the number of bytes of each that are logged; the default is 4,096.
	MaxPayload int
}

// Log returns middleware that logs every request with these attributes, without empty ones:
//
//	method, name      of the request; a URI without user information and query
//	client, subject   the client software as it describes itself, unverified,
//	                  and the authenticated principal
//	revision          of the protocol, on the wire
//	outcome           an [mcp.Outcome]
//	code, error       of a protocol error; the error's text only if the fault
//	                  is not the client's, as other texts quote the request
//	duration          of the Handler
//	params_bytes, result_bytes
//	params, result    if LogOptions.Payload is set
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
		// The library has no event.Tap, and a request makes one record only.
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

// LogLevel is the default level of a request: error if the server failed, warning if a tool failed
// or the client's request was wrong, otherwise info.
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

// appendResult adds the size of the result. For that it encodes the result, once: the transport
// then finds it encoded.
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
