// Package unanswered distinguishes errors that occurred because the server sent no response from
// errors that the server sent. This works even across gateways and proxies, through which both
// arrive as protocol errors.
package unanswered

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Member is the member of an error's data that contains the reason why there was no response.
const Member = "io.github.junction-mcp/unanswered"

// A Reason is the reason why there was no response. It is empty if there was one, or if this is
// unknown.
type Reason string

// The reasons.
const (
	Connection Reason = "connection" // the server is unreachable, or the connection was lost
	Timeout    Reason = "timeout"    // there was no response in time
)

// An Error is the error of a request that has no response.
type Error interface {
	error
	Unanswered()
}

// Of returns the reason why a request that failed with err has no response.
func Of(err error) Reason {
	switch marked := Error(nil); {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.As(err, &marked):
		return Connection
	}
	return ""
}

// In returns the reason in the data of a protocol error, or "".
func In(data json.RawMessage) Reason {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(data, Member))
	if r := Reason(text); r == Connection || r == Timeout {
		return r
	}
	return ""
}

// With returns the data of a protocol error with a reason added. It returns data that is not an
// object unchanged.
func With(data json.RawMessage, r Reason) json.RawMessage {
	if len(data) > 0 && data[0] != '{' {
		return data
	}
	if len(data) == 0 {
		data = json.RawMessage(`{}`)
	}
	return jsonrpc.With(data, Member, jsonrpc.AppendString(nil, string(r)))
}
