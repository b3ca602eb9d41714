package mcp

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/schema"
)

const methodRootsList = "roots/list"

// A Root is a folder or file in which the client lets the server work (client/roots).
type Root struct {
	URI  string          `json:"uri"` // file://…
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// listRootsResult is the wire form of the response to roots/list.
type listRootsResult struct {
	Roots []Root `json:"roots"`
}

// Roots requests the roots of the running request's client. The error is an [*Error] if the client
// has none, and [ErrInputRequired] if the response comes with the next round. Return either
// unchanged.
//
// Roots are deprecated in revision 2026-07-28 (SEP-2577). Clients that declare them still respond.
// Prefer folders as arguments of tools.
func Roots(ctx context.Context) ([]Root, error) { return RootsWith(ctx, "") }

// RootsWith is like [Roots], with the Key of a [ServerRequest].
func RootsWith(ctx context.Context, key string) ([]Root, error) {
	response, err := ask(ctx, ServerRequest{Key: key, Method: methodRootsList})
	if err != nil {
		return nil, err
	}
	var result listRootsResult
	if err := schema.DecodeLoose(response, &result); err != nil {
		return nil, Errorf(CodeInvalidParams, "the response to roots/list: %v", err)
	}
	return result.Roots, nil
}
