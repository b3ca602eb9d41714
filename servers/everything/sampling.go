package everything

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

// maxModelRounds is the number of times that sample-with-tools lets the model use its tool.
const maxModelRounds = 5

type sampleInput struct {
	Prompt    string `json:"prompt" doc:"What to ask the language model." min:"1"`
	MaxTokens int    `json:"max_tokens,omitempty" doc:"The longest answer wanted, in tokens." min:"1" max:"10000" default:"200"`
}

// addModelTools registers tools that use the client's language model.
func addModelTools(s *mcp.Server) {
	mcp.AddToolWith(s, look("sample", "Ask the model", "Ask the client's language model something and return its answer."), sample)
	mcp.AddToolWith(s, look("sample-with-tools", "Ask the model, with a tool", "Ask the client's language model something, and let it use a tool that adds numbers."), sampleWithTools)
}

func question(in sampleInput) mcp.CreateMessageRequest {
	return mcp.CreateMessageRequest{
		Messages:         []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text(in.Prompt)}}},
		SystemPrompt:     "Answer briefly.",
		MaxTokens:        in.MaxTokens,
		Temperature:      new(0.2),
		ModelPreferences: &mcp.ModelPreferences{SpeedPriority: new(0.8), CostPriority: new(0.8)},
	}
}

func sample(ctx context.Context, in sampleInput) (string, error) {
	answer, err := mcp.Sample(ctx, question(in))
	if err != nil {
		return "", err
	}
	return messageText(answer), nil
}

// sampleWithTools runs an agent loop: the model uses the tool until it has a result.
func sampleWithTools(ctx context.Context, in sampleInput) (string, error) {
	req := question(in)
	req.Tools = []mcp.Tool{{
		Name:        "add",
		Description: "Add two numbers.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	}}
	req.ToolChoice = &mcp.ToolChoice{Mode: "auto"}
	for range maxModelRounds {
		answer, err := mcp.Sample(ctx, req)
		if err != nil {
			return "", err
		}
		results := useTools(answer.Content)
		if len(results) == 0 {
			return messageText(answer), nil
		}
		req.Messages = append(req.Messages,
			mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: answer.Content},
			mcp.SamplingMessage{Role: mcp.RoleUser, Content: results})
	}
	return "", fmt.Errorf("the model still wanted to add numbers after %d rounds", maxModelRounds)
}

// useTools performs the additions that the model requests.
func useTools(content mcp.SamplingContent) mcp.SamplingContent {
	var results mcp.SamplingContent
	for _, c := range content {
		if c.Type != mcp.ContentToolUse || c.ToolUse == nil {
			continue
		}
		r := &mcp.ToolResult{ToolUseID: c.ToolUse.ID}
		var in addInput
		if err := json.Unmarshal(c.ToolUse.Input, &in); err != nil || c.ToolUse.Name != "add" {
			r.IsError, r.Content = true, []mcp.Content{mcp.Text(`the only tool is "add", which takes the numbers a and b`)}
		} else {
			r.Content = []mcp.Content{mcp.Textf("%g", in.A+in.B)}
		}
		results = append(results, mcp.Content{Type: mcp.ContentToolResult, ToolResult: r})
	}
	return results
}

// messageText returns the text of a model's message.
func messageText(answer *mcp.CreateMessageResult) string {
	var text strings.Builder
	for _, c := range answer.Content {
		if c.Type == mcp.ContentText {
			text.WriteString(c.Text)
			continue
		}
		fmt.Fprintf(&text, "(%s)", c.Type)
	}
	return fmt.Sprintf("%s said: %s", answer.Model, text.String())
}
