package everything

import (
	"context"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/mcp"
)

type travelArguments struct {
	Country string `json:"country" title:"Country" doc:"The country to travel to."`
	City    string `json:"city,omitempty" title:"City" doc:"A city there; the suggestions depend on the country."`
}

func cities() map[string][]string {
	return map[string][]string{
		"France": {"Lyon", "Marseille", "Paris"},
		"Japan":  {"Kyoto", "Osaka", "Tokyo"},
		"Norway": {"Bergen", "Oslo", "Trondheim"},
	}
}

// addPrompts registers one prompt of each kind.
func addPrompts(s *mcp.Server) {
	mcp.AddPromptWith(s, mcp.Prompt{Name: "greeting", Title: "Greeting", Description: "A prompt without arguments.", Icons: icons()}, fixed(mcp.Text("Hello! Who are you, and what can you do?")))
	mcp.AddPromptWith(s, mcp.Prompt{Name: "travel", Title: "Plan a journey", Description: "A prompt with a required and an optional argument, both with suggestions."}, travel)
	mcp.AddPromptWith(s, mcp.Prompt{Name: "with-resource", Title: "With a resource", Description: "A prompt with a resource."}, fixed(mcp.Embed(mcp.TextContents(textURI, "text/plain", resourceText)), mcp.Text("Summarize the text above.")))
	mcp.AddPromptWith(s, mcp.Prompt{Name: "with-image", Title: "With a picture", Description: "A prompt with a picture."}, fixed(mcp.Image(picture(), "image/png"), mcp.Text("What is in this picture?")))
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "travel"}, completeTravel)
}

func promptMessage(role mcp.Role, content mcp.Content) mcp.PromptMessage {
	return mcp.PromptMessage{Role: role, Content: content}
}

// fixed returns a handler for a prompt with one user message for each content.
func fixed(contents ...mcp.Content) func(context.Context, struct{}) (*mcp.GetPromptResult, error) {
	return func(context.Context, struct{}) (*mcp.GetPromptResult, error) {
		result := new(mcp.GetPromptResult)
		for _, content := range contents {
			result.Messages = append(result.Messages, promptMessage(mcp.RoleUser, content))
		}
		return result, nil
	}
}

func travel(_ context.Context, in travelArguments) (*mcp.GetPromptResult, error) {
	where := in.Country
	if in.City != "" {
		where = in.City + ", " + in.Country
	}
	return &mcp.GetPromptResult{
		Description: "A journey to " + where,
		Messages: []mcp.PromptMessage{
			promptMessage(mcp.RoleUser, mcp.Textf("I want to travel to %s.", where)),
			promptMessage(mcp.RoleAssistant, mcp.Text("How long do you want to stay?")),
			promptMessage(mcp.RoleUser, mcp.Text("A weekend. What should I see?")),
		},
	}, nil
}

func completeTravel(_ context.Context, req mcp.CompletionRequest) (*mcp.Completion, error) {
	if req.Argument.Name == "country" {
		return startingWith(req.Argument.Value, slices.Sorted(maps.Keys(cities()))), nil
	}
	var country string
	if req.Context != nil {
		country = req.Context.Arguments["country"]
	}
	return startingWith(req.Argument.Value, cities()[country]), nil
}
