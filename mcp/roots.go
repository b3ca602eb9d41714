package mcp

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/schema"
)

const methodRootsList = "roots/list"

// A Root is a folder or file that the client gives the server access to (client/roots).
type Root struct {
	URI  string          `json:"uri"` // file://…
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// A listRootsResult is the result of roots/list.
type listRootsResult struct {
	Roots []Root `json:"roots"`
}

// Roots requests the roots from the client of the running request. The error is an [*Error] if the
// client has no roots, and [ErrInputRequired] if the response comes with the next round. The tool
// should return these errors unchanged.
//
// Roots are deprecated in revision 2026-07-28 (SEP-2577). Clients that declare them still respond.
// Prefer folders in the arguments of tools.
func Roots(ctx context.Context) ([]Root, error) { return RootsKeyed(ctx, "") }

// RootsKeyed is like [Roots], with a key for the request; see [ServerRequest].
func RootsKeyed(ctx context.Context, key string) ([]Root, error) {
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
