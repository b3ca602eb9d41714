package mcp_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A client cannot show a mode that it does not know. An empty form in its place would mislead the
// user and the server.
func TestUnknownModesOfElicitationAreRefused(t *testing.T) {
	able := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	for params, allowed := range map[string]bool{
		`{"message":"m"}`:                true,
		`{"message":"m","mode":null}`:    true,
		`{"message":"m","mode":""}`:      true,
		`{"message":"m","mode":"form"}`:  true,
		`{"message":"m","mode":"url"}`:   true,
		`{"message":"m","mode":"voice"}`: false,
		`{"message":"m","mode":"URL"}`:   false,
		`{"message":"m","mode":1}`:       false,
	} {
		err := able.Allow(mcp.ServerRequest{Method: "elicitation/create", Params: json.RawMessage(params)})
		if refused := errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}); refused == allowed || allowed != (err == nil) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
