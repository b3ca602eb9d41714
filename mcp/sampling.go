package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/schema"
)

const methodSample = "sampling/createMessage"

// A CreateMessageRequest is a request to the client's language model (client/sampling).
type CreateMessageRequest struct {
	// Key identifies the request; see [ServerRequest].
	Key              string            `json:"-"`
	Messages         []SamplingMessage `json:"messages"`
	MaxTokens        int               `json:"maxTokens"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	IncludeContext   string            `json:"includeContext,omitempty"` // "none", "thisServer" or "allServers"
	Temperature      *float64          `json:"temperature,omitempty"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	Metadata         json.RawMessage   `json:"metadata,omitzero"`
	Tools            []Tool            `json:"tools,omitempty"`
	ToolChoice       *ToolChoice       `json:"toolChoice,omitempty"`
}

// A ToolChoice decides whether the model may use tools ("auto"), must use them ("required") or must
// not use them ("none").
type ToolChoice struct {
	Mode string `json:"mode,omitempty"`
}

// ModelPreferences describes the model that the server prefers. Priorities are between 0 and 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
}

// A ModelHint is a part of the name of a model or of a family of models.
type ModelHint struct {
	Name string `json:"name,omitempty"`
}

// A SamplingMessage is one message of a conversation with a model.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// SamplingContent contains the blocks of a message. A single block is encoded without an array, as
// revisions before 2025-11-25 have no arrays here.
type SamplingContent []Content

// MarshalJSON encodes the blocks.
func (c SamplingContent) MarshalJSON() ([]byte, error) {
	if len(c) == 1 {
		return c[0].AppendJSON(nil)
	}
	return appendContents(nil, c)
}

// UnmarshalJSON decodes one block or an array of blocks.
func (c *SamplingContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return schema.DecodeLoose(data, (*[]Content)(c))
	}
	*c = SamplingContent{{}}
	return schema.DecodeLoose(data, &(*c)[0])
}

// A ToolUse is a model's request to call a tool.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// A ToolResult is the result of a [ToolUse].
type ToolResult struct {
	ToolUseID         string          `json:"toolUseId"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              json.RawMessage `json:"_meta,omitzero"`
}

// A CreateMessageResult is the message from the model.
type CreateMessageResult struct {
	Role       Role            `json:"role"`
	Content    SamplingContent `json:"content"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"` // "endTurn", "stopSequence", "maxTokens", "toolUse" or another
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// Sample sends a request to the language model of the running request's client. The error is an
// [*Error] if the client has no model or refused the request, and [ErrInputRequired] if the
// response comes with the next round. The tool should return these errors unchanged.
//
// Sampling is deprecated in revision 2026-07-28 (SEP-2577). Clients that declare it still respond.
// Prefer to call a model directly.
func Sample(ctx context.Context, req CreateMessageRequest) (*CreateMessageResult, error) {
	if req.MaxTokens <= 0 {
		return nil, fmt.Errorf("sampling: MaxTokens must be positive")
	}
	params, err := schema.Encode(nil, req)
	if err != nil {
		return nil, fmt.Errorf("sampling: %w", err)
	}
	response, err := ask(ctx, ServerRequest{Key: req.Key, Method: methodSample, Params: params})
	if err != nil {
		return nil, err
	}
	var result CreateMessageResult
	if err := schema.DecodeLoose(response, &result); err != nil {
		return nil, Errorf(CodeInvalidParams, "the response to a sampling request: %v", err)
	}
	return &result, nil
}
