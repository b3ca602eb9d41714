// Package refused marks results and errors by which a gateway refuses a request itself, so that its client can tell them from those of
// the server behind. What a server marks so is not believed: see [Without].
package refused

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Member is the member of a result's _meta, or of an error's data, that says by what the request was refused.
const Member = "io.github.junction-mcp/refused"

// By is what refuses a request; empty where the server responded, or could not.
type By string

// What refuses requests.
const (
	Rule    By = "rule"
	Limit   By = "limit"
	Review  By = "review"
	Secrets By = "secrets"
	Scope   By = "scope"
	Audit   By = "audit" // the log cannot be written
)

// In returns what the _meta of a result, or the data of an error, say.
func In(object json.RawMessage) By {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(object, Member))
	return By(text)
}

// With returns the _meta of a result, or the data of an error, with the mark; which may be nil.
func With(object json.RawMessage, by By) json.RawMessage {
	return jsonrpc.With(object, Member, jsonrpc.AppendString(nil, string(by)))
}

// Without returns them without the mark.
func Without(object json.RawMessage) json.RawMessage {
	if jsonrpc.Get(object, Member) == nil {
		return object
	}
	return jsonrpc.Without(object, Member)
}

// WithoutInTask returns a task without the mark in the result, or the error, that it holds.
func WithoutInTask(task json.RawMessage) json.RawMessage {
	for _, in := range [][2]string{{"result", "_meta"}, {"error", "data"}} {
		outcome := jsonrpc.Get(task, in[0])
		if object := jsonrpc.Get(outcome, in[1]); jsonrpc.Get(object, Member) != nil {
			task = jsonrpc.With(task, in[0], jsonrpc.With(outcome, in[1], Without(object)))
		}
	}
	return task
}
