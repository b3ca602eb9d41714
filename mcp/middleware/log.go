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

// Limits of the content of one record.
const (
	maxText        = 200   // maximum characters of a name or an error
	defaultPayload = 4_096 // maximum bytes of the params and of a result
)

// LogOptions holds the settings of [Log]. The zero value of each field is its default.
type LogOptions struct {
	// Logger gets a record for each request after the request has ended, with the context of the
	// request. The default is slog.Default().
	Logger *slog.Logger
	// Level returns the level of a record. err is the error of the Handler, or nil. The default is
	// [LogLevel].
	Level func(outcome mcp.Outcome, err error) slog.Level
	// Payload adds the params and the result. They often contain data that do not belong in a log;
	// see Redact.
	Payload bool
	// Redact, if not nil, gets the params or the result, which are one JSON object. It returns the
	// text to log, or nil for none. It must not change data.
	Redact func(req *mcp.Request, data json.RawMessage) json.RawMessage
	// MaxPayload is the maximum number of bytes that are logged of the params and of the result.
	// The default is 4,096.
	MaxPayload int
}

// Log returns middleware that logs every request. A record has the following attributes, without
// empty ones:
//
//	method, name      method and subject of the request; a URI is without
//	                  user information and query
//	client, subject   name of the client software, unverified, and the
//	                  authenticated principal
//	revision          protocol revision of the message
//	outcome           an [mcp.Outcome]
//	code, error       code and text of a protocol error; the text only if the
//	                  server is at fault, as other texts quote the request
//	duration          duration of the call of the Handler
//	params_bytes, result_bytes
//	params, result    only if LogOptions.Payload is set
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
		// This package does not use event.Tap, as a request makes only one record.
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

// LogLevel returns the default level for a request. The level is error if the server failed,
// warning if a tool failed or the client's request was wrong, and otherwise info.
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

// appendResult adds the size of the result. It encodes the result for that; the transport then uses
// the encoded result.
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
