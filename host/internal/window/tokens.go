package window

import "github.com/junction-mcp/junction/model"

// TokensOf are the tokens of definitions of tools.
func TokensOf(tools []model.Tool) int {
	bytes := 0
	for i := range tools {
		bytes += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Schema)
	}
	return model.EstimateTokens(bytes)
}

// TokensOfRequest are the tokens of a request.
func TokensOfRequest(req *model.Request) int {
	return model.EstimateTokens(len(req.System)) + TokensOf(req.Tools) + tokensOfAll(req.Messages)
}

func tokensOfAll(messages []model.Message) int {
	tokens := 0
	for i := range messages {
		tokens += TokensOfMessage(&messages[i])
	}
	return tokens
}

// MessageTokens are those around the parts of a message.
const MessageTokens = 4

// TokensOfMessage are the tokens of a message.
func TokensOfMessage(m *model.Message) int {
	return MessageTokens + TokensOfParts(m.Parts)
}

// TokensOfParts are the tokens of parts of a message.
func TokensOfParts(parts []model.Part) int {
	bytes, more := 0, 0
	for i := range parts {
		p := &parts[i]
		bytes += len(p.Text)
		switch {
		case p.Call != nil:
			bytes += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments)
		case p.Result != nil:
			bytes += len(p.Result.CallID)
			more += TokensOfParts(p.Result.Parts)
		case p.Media != nil:
			more += model.PictureTokens
		case p.Reasoning != nil:
			bytes += max(len(p.Reasoning.Text), len(p.Reasoning.Raw))
		case p.Opaque != nil:
			bytes += len(p.Opaque.Raw)
		}
	}
	return model.EstimateTokens(bytes) + more
}
