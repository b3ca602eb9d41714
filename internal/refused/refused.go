// Package refused marks results and errors of requests that the gateway itself refused. Clients can
// then distinguish them from results and errors of the server. Marks that a server sets must be
// removed; see [Without].
package refused

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Member is the member of a result's _meta, or of an error's data, with the kind of check that
// refused the request.
const Member = "io.github.junction-mcp/refused"

// By is the kind of check that refused a request. It is empty if no check did.
type By string

// The checks that refuse requests.
const (
	Rule    By = "rule"
	Limit   By = "limit"
	Review  By = "review"
	Secrets By = "secrets"
	Scope   By = "scope"
	Role    By = "role"
	Audit   By = "audit" // the audit log cannot be written
)

// In returns the mark in a result's _meta or an error's data.
func In(object json.RawMessage) By {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(object, Member))
	return By(text)
}

// With returns a result's _meta or an error's data with the mark added. object may be nil.
func With(object json.RawMessage, by By) json.RawMessage {
	return jsonrpc.With(object, Member, jsonrpc.AppendString(nil, string(by)))
}

// Without returns object without the mark.
func Without(object json.RawMessage) json.RawMessage {
	if jsonrpc.Get(object, Member) == nil {
		return object
	}
	return jsonrpc.Without(object, Member)
}

// WithoutInTask returns a task without the mark in its result and its error.
func WithoutInTask(task json.RawMessage) json.RawMessage {
	for _, in := range [][2]string{{"result", "_meta"}, {"error", "data"}} {
		outcome := jsonrpc.Get(task, in[0])
		if object := jsonrpc.Get(outcome, in[1]); jsonrpc.Get(object, Member) != nil {
			task = jsonrpc.With(task, in[0], jsonrpc.With(outcome, in[1], Without(object)))
		}
	}
	return task
}
