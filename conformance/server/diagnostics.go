package main

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

// toggle adds a feature, or removes it if it is there.
type toggle struct {
	mu      sync.Mutex
	present bool
}

func (t *toggle) flip(add, remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present = !t.present; t.present {
		add()
	} else {
		remove()
	}
}

// addDiagnostics registers the tools with which the suite makes things happen.
func addDiagnostics(s *mcp.Server) {
	mcp.AddTool(s, "test_missing_capability", func(ctx context.Context, _ struct{}) (string, error) {
		return sampled(ctx, "needed", "Say something", 10)
	}, about("Needs the capability sampling."))
	mcp.AddTool(s, "test_streaming_elicitation", func(ctx context.Context, _ struct{}) (string, error) {
		if err := mcp.Log(ctx, mcp.LogInfo, "about to ask"); err != nil {
			return "", err
		}
		if err := mcp.Progress(ctx, 1, 2); err != nil {
			return "", err
		}
		return text(ctx, "user_name", "What is your name?", "name")
	}, about("Notifies, and then asks the user."))
	mcp.AddTool(s, "test_logging_tool", func(ctx context.Context, _ struct{}) (string, error) {
		return "Logged, if the client wanted it.", mcp.Log(ctx, mcp.LogWarning, "a message")
	}, about("Logs a message."))
	addTriggers(s)
}

// addTriggers registers the tools that change a list.
func addTriggers(s *mcp.Server) {
	var tools, prompts toggle
	mcp.AddTool(s, "test_trigger_tool_change", func(context.Context, struct{}) (string, error) {
		tools.flip(func() {
			mcp.AddTool(s, "test_triggered_tool", func(context.Context, struct{}) (string, error) { return "Here.", nil }, about("Comes and goes."))
		}, func() { s.RemoveTool("test_triggered_tool") })
		return "The list of tools changed.", nil
	}, about("Changes the list of tools."))
	mcp.AddTool(s, "test_trigger_prompt_change", func(context.Context, struct{}) (string, error) {
		prompts.flip(func() {
			must(s.AddPrompt(mcp.Prompt{Name: "test_triggered_prompt", Description: "Comes and goes."}, simplePrompt))
		}, func() { s.RemovePrompt("test_triggered_prompt") })
		return "The list of prompts changed.", nil
	}, about("Changes the list of prompts."))
}
