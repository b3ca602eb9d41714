package main

import (
	"context"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

type twoArguments struct {
	Arg1 string `json:"arg1" doc:"First test argument"`
	Arg2 string `json:"arg2" doc:"Second test argument"`
}

type resourceArgument struct {
	ResourceURI string `json:"resourceUri" doc:"URI of the resource to embed"`
}

// addPrompts registers the prompts, and completions for the arguments of one.
func addPrompts(s *mcp.Server) {
	s.AddPrompt(mcp.Prompt{Name: "test_simple_prompt", Description: "A prompt without arguments."}, simplePrompt)
	s.AddPrompt(mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt with an image."},
		func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return fromUser(mcp.Image(decoded(redPixel), "image/png"), mcp.Text("Please analyze the image above.")), nil
		})
	mcp.AddPromptWith(s, mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A prompt with two arguments."}, func(_ context.Context, in twoArguments) (*mcp.GetPromptResult, error) {
		return fromUser(mcp.Textf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2)), nil
	})
	mcp.AddPromptWith(s, mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A prompt with an embedded resource."}, func(_ context.Context, in resourceArgument) (*mcp.GetPromptResult, error) {
		return fromUser(
			mcp.Embed(mcp.TextContents(in.ResourceURI, "text/plain", "Embedded resource content for testing.")),
			mcp.Text("Please process the embedded resource above."),
		), nil
	})
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "test_prompt_with_arguments"}, complete)
}

func simplePrompt(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
	return fromUser(mcp.Text("This is a simple prompt for testing.")), nil
}

func fromUser(content ...mcp.Content) *mcp.GetPromptResult {
	result := &mcp.GetPromptResult{}
	for _, c := range content {
		result.Messages = append(result.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
	}
	return result
}

func complete(_ context.Context, req mcp.CompletionRequest) (*mcp.Completion, error) {
	c := &mcp.Completion{}
	for _, word := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(word, req.Argument.Value) {
			c.Values = append(c.Values, word)
		}
	}
	return c, nil
}
