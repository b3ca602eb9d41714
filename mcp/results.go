package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/schema"
)

// A ListToolsResult is one page of tools/list.
type ListToolsResult struct {
	Tools      []*Tool `json:"tools"`
	NextCursor string  `json:"nextCursor,omitempty"` // empty on the last page
}

// A ListPromptsResult is one page of prompts/list.
type ListPromptsResult struct {
	Prompts    []*Prompt `json:"prompts"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// A ListResourcesResult is one page of resources/list.
type ListResourcesResult struct {
	Resources  []*Resource `json:"resources"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// A ListResourceTemplatesResult is one page of resources/templates/list.
type ListResourceTemplatesResult struct {
	ResourceTemplates []*ResourceTemplate `json:"resourceTemplates"`
	NextCursor        string              `json:"nextCursor,omitempty"`
}

// CallTool decodes the result of tools/call, and returns a copy. Use [Result.With] to make a
// changed Result. The error reports that the result has another type. The following methods do the
// same for other results.
func (r *Result) CallTool() (*CallToolResult, error) {
	into := new(CallToolResult)
	if v, ok := r.Value.(*CallToolResult); ok && r.JSON == nil && v != nil {
		*into = *v
	} else if err := r.read("a tool's result", into); err != nil {
		return nil, err
	}
	into.Meta = r.Meta
	return into, nil
}

// GetPrompt decodes the result of prompts/get.
func (r *Result) GetPrompt() (*GetPromptResult, error) {
	into := new(GetPromptResult)
	err := r.read("a prompt", into)
	if err != nil {
		return nil, err
	}
	into.Meta = r.Meta
	return into, nil
}

// ReadResource decodes the result of resources/read.
func (r *Result) ReadResource() (*ReadResourceResult, error) {
	into := new(ReadResourceResult)
	if err := r.read("the contents of a resource", into); err != nil {
		return nil, err
	}
	into.Meta = r.Meta
	return into, nil
}

// Discover decodes the result of server/discover.
func (r *Result) Discover() (*DiscoverResult, error) {
	return readAs[DiscoverResult](r, "a server's description of itself")
}

// ListTools decodes the result of tools/list.
func (r *Result) ListTools() (*ListToolsResult, error) {
	return readAs[ListToolsResult](r, "a list of tools")
}

// ListPrompts decodes the result of prompts/list.
func (r *Result) ListPrompts() (*ListPromptsResult, error) {
	return readAs[ListPromptsResult](r, "a list of prompts")
}

// ListResources decodes the result of resources/list.
func (r *Result) ListResources() (*ListResourcesResult, error) {
	return readAs[ListResourcesResult](r, "a list of resources")
}

// ListResourceTemplates decodes the result of resources/templates/list.
func (r *Result) ListResourceTemplates() (*ListResourceTemplatesResult, error) {
	return readAs[ListResourceTemplatesResult](r, "a list of resource templates")
}

// With returns the result with another object. The value is of one of the types above, or any value
// that encodes to a JSON object. Type, Meta and the caching hints stay. Members that the type of
// value lacks are lost.
func (r Result) With(value any) Result {
	r.JSON, r.Value = nil, value
	return r
}

// WithJSON is like [Result.With], for an object that is already encoded.
func (r Result) WithJSON(object json.RawMessage) Result {
	r.JSON, r.Value = object, nil
	return r
}

func readAs[T any](r *Result, what string) (*T, error) {
	into := new(T)
	if err := r.read(what, into); err != nil {
		return nil, err
	}
	return into, nil
}

// read decodes a complete result into the value that into points to.
func (r *Result) read(what string, into any) error {
	if !r.IsComplete() {
		return fmt.Errorf("expected %s, got a result of type %q", what, r.Type)
	}
	body, err := r.Encoded()
	if err == nil {
		err = schema.DecodeLoose(body, into)
	}
	if err != nil {
		return fmt.Errorf("expected %s: %w", what, err)
	}
	return nil
}
