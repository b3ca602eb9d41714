// Package sampling translates sampling requests of servers to package model, and the model's
// answers back.
package sampling

import (
	"cmp"
	"fmt"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

const (
	defaultTokens = 1_000
	maxTokens     = 16_000
	maxMessages   = 200
	maxTools      = 64
)

// Request translates a server's request. It also returns the names of the server's tools in the
// translated request.
func Request(req *mcp.CreateMessageRequest) (*model.Request, *model.Names, error) {
	if len(req.Messages) == 0 || len(req.Messages) > maxMessages || len(req.Tools) > maxTools {
		return nil, nil, fmt.Errorf("expected 1 to %d messages and at most %d tools, got %d and %d", maxMessages, maxTools, len(req.Messages), len(req.Tools))
	}
	names := model.NewNames()
	request := &model.Request{System: excerpt.Clean(req.SystemPrompt), MaxTokens: min(cmp.Or(req.MaxTokens, defaultTokens), maxTokens), Temperature: req.Temperature, Stop: req.StopSequences}
	for _, t := range req.Tools {
		request.Tools = append(request.Tools, model.Tool{Name: names.Portable(t.Name), Description: Describe(&t), Schema: excerpt.CleanJSON(t.InputSchema)})
	}
	if req.ToolChoice != nil && len(req.Tools) > 0 {
		switch req.ToolChoice.Mode {
		case "required":
			request.Choice = model.ChoiceRequired
		case "none":
			request.Choice = model.ChoiceNone
		}
	}
	called := map[string]string{}
	for _, m := range req.Messages {
		request.Messages = append(request.Messages, messages(&m, names, called)...)
	}
	if err := model.Check(request); err != nil {
		return nil, nil, err
	}
	return request, names, nil
}

// messages translates one message of a server's request. Results of calls become separate messages,
// which name the called tool.
func messages(m *mcp.SamplingMessage, names *model.Names, called map[string]string) []model.Message {
	said := model.Message{Role: model.Role(m.Role)}
	results := model.Message{Role: model.RoleTool}
	for i := range m.Content {
		block := &m.Content[i]
		switch {
		case block.ToolUse != nil:
			called[block.ToolUse.ID] = names.Portable(block.ToolUse.Name)
			said.Parts = append(said.Parts, model.Part{Call: &model.Call{ID: block.ToolUse.ID, Name: names.Portable(block.ToolUse.Name), Arguments: block.ToolUse.Input}})
		case block.ToolResult != nil:
			got := outcome.Read(block.ToolResult.Content...)
			results.Parts = append(results.Parts, model.Part{Result: &model.Result{
				CallID: block.ToolResult.ToolUseID, Name: called[block.ToolResult.ToolUseID], IsError: block.ToolResult.IsError,
				Parts: append([]model.Part{{Text: cmp.Or(got.Whole, "(no content)")}}, got.Parts...),
			}})
		case block.Type == mcp.ContentText && block.Text != "":
			said.Parts = append(said.Parts, model.Part{Text: excerpt.Clean(block.Text)})
		case block.Data != nil:
			said.Parts = append(said.Parts, model.Part{Media: &model.Media{Type: block.MIMEType, Data: block.Data}})
		}
	}
	var all []model.Message
	if len(results.Parts) > 0 {
		all = append(all, results)
	}
	if len(said.Parts) > 0 {
		all = append(all, said)
	}
	return all
}

// Result translates the model's answer for the server.
func Result(response *model.Response, name string, names *model.Names) *mcp.CreateMessageResult {
	result := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: cmp.Or(response.Model, name)}
	for _, p := range response.Message.Parts {
		switch {
		case p.Text != "":
			result.Content = append(result.Content, mcp.Text(p.Text))
		case p.Call != nil:
			result.Content = append(result.Content, mcp.Content{Type: "tool_use", ToolUse: &mcp.ToolUse{ID: p.Call.ID, Name: cmp.Or(names.Original(p.Call.Name), p.Call.Name), Input: p.Call.Arguments}})
		}
	}
	if len(result.Content) == 0 {
		result.Content = append(result.Content, mcp.Text(""))
	}
	result.StopReason = map[model.StopReason]string{
		model.StopEnd: "endTurn", model.StopCalls: "toolUse", model.StopLength: "maxTokens",
	}[response.Stop]
	if result.StopReason == "" {
		result.StopReason = string(response.Stop)
	}
	return result
}

func FirstText(messages []mcp.SamplingMessage) string {
	for i := range messages {
		for _, c := range messages[i].Content {
			if c.Text != "" {
				return excerpt.Clip(c.Text, 400)
			}
		}
	}
	return ""
}

// Describe returns the description of a tool, or its title if it has no description. It cleans the
// text.
func Describe(t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	return guard.Clean(text)
}
