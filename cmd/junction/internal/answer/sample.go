package answer

import (
	"context"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// codeRefused is how clients say that the user did not want to (client/sampling,
// error handling).
const codeRefused = -1

// sample answers for a model: with the text of the flag or what a person types.
func (d *Desk) sample(ctx context.Context, server string, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	text := d.Sample
	model := "canned"
	if d.Sample == "ask" {
		typed, err := compose(ctx, d.Person, server, req)
		if err != nil {
			return nil, err
		}
		text, model = typed, "human"
	}
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.SamplingContent{mcp.Text(text)}, Model: model, StopReason: "endTurn"}, nil
}

// compose shows what a model was to read, and reads what it is to say.
func compose(ctx context.Context, person *terminal.Person, server string, req mcp.CreateMessageRequest) (string, error) {
	end, err := person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	person.Printf("\n%s asks a language model:\n", server)
	if req.SystemPrompt != "" {
		person.Printf("  system:\n%s\n", message(req.SystemPrompt, person.Width()))
	}
	for _, m := range req.Messages {
		person.Printf("  %s:\n", plaintext.Line(string(m.Role), maxLabel))
		for _, c := range m.Content {
			if c.Type == mcp.ContentText {
				person.Printf("%s\n", message(c.Text, person.Width()))
				continue
			}
			person.Printf("  [%s]\n", plaintext.Line(c.Type, maxLabel))
		}
	}
	person.Printf("Answer in its place; an empty line ends the answer, :decline refuses.\n")
	var lines []string
	for {
		line, err := person.Line(ctx, "> ")
		if err != nil && (err != terminal.ErrNoAnswer || len(lines) == 0) {
			return "", err
		}
		switch strings.TrimSpace(line) {
		case ":decline", ":cancel":
			return "", mcp.Errorf(codeRefused, "User rejected sampling request")
		case "":
			return strings.Join(lines, "\n"), nil
		}
		lines = append(lines, line)
	}
}

func message(text string, width int) string {
	text = plaintext.Clean(text)
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-1]) + "…"
	}
	return terminal.Wrap(text, 2, width)
}
