// Package unanswered distinguishes errors of requests without a response of their server from
// errors that the server sent. It also works across gateways and proxies, where both are protocol
// errors.
package unanswered

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Member is the member of an error's data with the reason for the missing response.
const Member = "io.github.junction-mcp/unanswered"

// A Reason is the reason for a missing response; empty if there was one, or if that is unknown.
type Reason string

// Reasons.
const (
	Connection Reason = "connection" // the server is unreachable, or the connection was lost
	Timeout    Reason = "timeout"    // no response in time
)

// An Error is an error of a request without a response.
type Error interface {
	error
	Unanswered()
}

// Of returns why a request that failed with err has no response.
func Of(err error) Reason {
	switch marked := Error(nil); {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.As(err, &marked):
		return Connection
	}
	return ""
}

// In returns the reason in the data of a protocol error.
func In(data json.RawMessage) Reason {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(data, Member))
	if r := Reason(text); r == Connection || r == Timeout {
		return r
	}
	return ""
}

// With returns the data of a protocol error with a reason. Data that are not an object stay
// unchanged.
func With(data json.RawMessage, r Reason) json.RawMessage {
	if len(data) > 0 && data[0] != '{' {
		return data
	}
	if len(data) == 0 {
		data = json.RawMessage(`{}`)
	}
	return jsonrpc.With(data, Member, jsonrpc.AppendString(nil, string(r)))
}
