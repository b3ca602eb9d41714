package main

import (
	"context"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

// toggle alternates between adding and removing a feature.
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

// addDiagnostics registers the tools that the suite uses to trigger events.
func addDiagnostics(s *mcp.Server) {
	mcp.AddToolWith(s, about("test_missing_capability", "Needs the capability sampling."), func(ctx context.Context, _ struct{}) (string, error) {
		return sampled(ctx, "needed", "Say something", 10)
	})
	mcp.AddToolWith(s, about("test_streaming_elicitation", "Notifies, and then asks the user."), func(ctx context.Context, _ struct{}) (string, error) {
		if err := mcp.Log(ctx, mcp.LogInfo, "about to ask"); err != nil {
			return "", err
		}
		if err := mcp.Progress(ctx, 1, 2, ""); err != nil {
			return "", err
		}
		return text(ctx, "user_name", "What is your name?", "name")
	})
	mcp.AddToolWith(s, about("test_logging_tool", "Logs a message."), func(ctx context.Context, _ struct{}) (string, error) {
		return "Logged, if the client wanted it.", mcp.Log(ctx, mcp.LogWarning, "a message")
	})
	addTriggers(s)
}

// addTriggers registers the tools that change a list.
func addTriggers(s *mcp.Server) {
	var tools, prompts toggle
	mcp.AddToolWith(s, about("test_trigger_tool_change", "Changes the list of tools."), func(context.Context, struct{}) (string, error) {
		tools.flip(func() {
			mcp.AddToolWith(s, about("test_triggered_tool", "Comes and goes."), func(context.Context, struct{}) (string, error) { return "Here.", nil })
		}, func() { s.RemoveTool("test_triggered_tool") })
		return "The list of tools changed.", nil
	})
	mcp.AddToolWith(s, about("test_trigger_prompt_change", "Changes the list of prompts."), func(context.Context, struct{}) (string, error) {
		prompts.flip(func() {
			s.AddPrompt(mcp.Prompt{Name: "test_triggered_prompt", Description: "Comes and goes."}, simplePrompt)
		}, func() { s.RemovePrompt("test_triggered_prompt") })
		return "The list of prompts changed.", nil
	})
}
