package mcp

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/schema"
)

const methodRootsList = "roots/list"

// A Root is a folder or file that the client lets the server work in (client/roots).
type Root struct {
	URI  string          `json:"uri"` // file://…
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// listRootsResult is the wire form of the answer to roots/list.
type listRootsResult struct {
	Roots []Root `json:"roots"`
}

// Roots asks the client of the running request for its roots. The error is an
// [*Error] if the client has none, and [ErrInputRequired] where the answer comes
// with the next round: return them both. key names the question, see [Question].
func Roots(ctx context.Context, key ...string) ([]Root, error) {
	q := Question{Method: methodRootsList}
	if len(key) > 0 {
		q.Key = key[0]
	}
	answer, err := ask(ctx, q)
	if err != nil {
		return nil, err
	}
	var result listRootsResult
	if err := schema.DecodeLoose(answer, &result); err != nil {
		return nil, Errorf(CodeInvalidParams, "the answer to roots/list: %v", err)
	}
	return result.Roots, nil
}
