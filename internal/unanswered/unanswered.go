// Package unanswered tells the error of a request that got no response of its server from one that the server responded with, also
// where a gateway or a proxy passed it on: there both are protocol errors.
package unanswered

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Member is the member of an error's data that says why there was no response.
const Member = "io.github.junction-mcp/unanswered"

// A Reason is why there was no response; empty where there was one, or nothing is known of that.
type Reason string

// The reasons.
const (
	Connection Reason = "connection" // the server cannot be reached, or the connection is lost
	Timeout    Reason = "timeout"    // it did not respond in time
)

// An Error is implemented by errors of requests that got no response.
type Error interface {
	error
	Unanswered()
}

// Of returns why a request has no response that failed with err.
func Of(err error) Reason {
	switch marked := Error(nil); {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.As(err, &marked):
		return Connection
	}
	return ""
}

// In returns the reason that the data of a protocol error have.
func In(data json.RawMessage) Reason {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(data, Member))
	if r := Reason(text); r == Connection || r == Timeout {
		return r
	}
	return ""
}

// With returns the data of a protocol error with a reason; data that are no object stay as they are.
func With(data json.RawMessage, r Reason) json.RawMessage {
	if len(data) > 0 && data[0] != '{' {
		return data
	}
	if len(data) == 0 {
		data = json.RawMessage(`{}`)
	}
	return jsonrpc.With(data, Member, jsonrpc.AppendString(nil, string(r)))
}
