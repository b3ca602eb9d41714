package tui

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// All that the model gets of a server's request is on the card.
func TestAllOfARequestForTheModelIsShown(t *testing.T) {
	req := &mcp.CreateMessageRequest{
		StopSequences: []string{"STOP-HERE"},
		Tools:         []mcp.Tool{{Name: "t", Description: "d", InputSchema: object(`{"type":"object","properties":{"a":{"description":"IN-SCHEMA"}}}`)}},
		Messages: []mcp.SamplingMessage{
			{Role: "assistant", Content: []mcp.Content{{Type: mcp.ContentToolUse, ToolUse: &mcp.ToolUse{ID: "1", Name: "t", Input: object(`{}`)}}}},
			{Role: "user", Content: []mcp.Content{{Type: mcp.ContentToolResult, ToolResult: &mcp.ToolResult{ToolUseID: "1", Content: []mcp.Content{
				{Type: "resource", Resource: &mcp.ResourceContents{URI: "file:///IN-URI", Text: "IN-RESOURCE"}},
				{Type: "resource_link", Link: &mcp.Resource{URI: "file:///x", Name: "IN-LINK", Description: "IN-LINK-TEXT"}},
			}}}}},
		},
	}
	got := painted((&sampleCard{sampling: host.Sampling{Server: "s", Request: req}}).body(200))
	for _, want := range []string{"STOP-HERE", "IN-SCHEMA", "IN-URI", "IN-RESOURCE", "IN-LINK", "IN-LINK-TEXT"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not on the card", want)
		}
	}
	if t.Failed() {
		t.Log("\n" + got)
	}
}
