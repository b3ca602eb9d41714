package main

import (
	"context"

	"github.com/junction-mcp/junction/mcp"
)

type promptInput struct {
	Prompt string `json:"prompt" doc:"The prompt to send to the model."`
}

// addSampling registers the tool that asks the client's model while it runs.
func addSampling(s *mcp.Server) {
	mcp.AddToolWith(s, about("test_sampling", "Asks the client's model."), func(ctx context.Context, in promptInput) (string, error) {
		text, err := sampled(ctx, "", in.Prompt, 100)
		return "LLM response: " + text, err
	})
}

// sampled asks the client's model. key identifies the request if the client sees keys.
func sampled(ctx context.Context, key, prompt string, maxTokens int) (string, error) {
	result, err := mcp.Sample(ctx, mcp.CreateMessageRequest{
		Key:       key,
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text(prompt)}}},
		MaxTokens: maxTokens,
	})
	if err != nil || len(result.Content) == 0 {
		return "", err
	}
	return result.Content[0].Text, nil
}
