package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// TestFormsThatAreNoObjectsAreNotSent has a client that would show any form.
func TestFormsThatAreNoObjectsAreNotSent(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "text", func(ctx context.Context, _ struct{}) (string, error) { return mcp.Elicit[string](ctx, "?") })
	mcp.AddTool(s, "pointer", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Elicit[struct{ N *int }](ctx, "?")
		return "", err
	})
	mcp.AddTool(s, "raw", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Message: "?", RequestedSchema: json.RawMessage(`{"type":"string"}`)})
		return "", err
	})
	c := mcp.NewClientWith(s, mcp.ClientOptions{OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		t.Error("the client gets a form")
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}})
	defer c.Close()
	for tool, want := range map[string]string{"text": "use a struct", "pointer": "omitempty", "raw": "use a struct"} {
		result, err := c.CallTool(t.Context(), tool, nil)
		if err != nil || !result.IsError || !strings.Contains(result.Content[0].Text, want) {
			t.Errorf("%s: %v, %v", tool, result, err)
		}
	}
}

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
