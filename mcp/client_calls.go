package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

// A ToolFailure is the error of [Call] if the tool itself failed, that is, if its result has
// isError.
type ToolFailure struct {
	Server, Tool string
	Result       *CallToolResult
}

// Error names the tool that failed and includes its text.
func (e *ToolFailure) Error() string {
	return fmt.Sprintf("server %q: tool %q failed: %s", e.Server, e.Tool, e.Result.Text())
}

// Text returns the joined text blocks of a result. A nil result has none.
func (r *CallToolResult) Text() string {
	if r == nil {
		return ""
	}
	var parts []string
	for i := range r.Content {
		if r.Content[i].Type == ContentText {
			parts = append(parts, r.Content[i].Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Call calls a tool with the arguments in, and returns its result as an Out. It decodes the
// structured content of the result. If there is none, it uses the text: unchanged if Out is a
// string, and otherwise as JSON. The error is a [*ToolFailure] if the tool failed.
func Call[Out any](ctx context.Context, c *Client, tool string, in any) (Out, error) {
	var out Out
	result, err := c.CallTool(ctx, tool, in)
	if err != nil {
		return out, err
	}
	if result.IsError {
		return out, &ToolFailure{Server: c.options.Name, Tool: tool, Result: result}
	}
	data := result.StructuredContent
	if data == nil || reflect.TypeFor[Out]().Kind() == reflect.String && data[0] != '"' {
		if v := reflect.ValueOf(&out).Elem(); v.Kind() == reflect.String {
			v.SetString(result.Text())
			return out, nil
		}
		if data = json.RawMessage(result.Text()); jsonrpc.Valid(data, jsonrpc.Limits{}) != nil {
			return out, fmt.Errorf("server %q: tool %q: expected structured content or JSON text for %T, got %s", c.options.Name, tool, out, plaintext.Count(len(result.Content), "block")+" of content")
		}
	}
	if err := c.codecs.DecodeLoose(data, &out); err != nil {
		return out, fmt.Errorf("server %q: tool %q: its result: %w", c.options.Name, tool, err)
	}
	return out, nil
}

// CallTool calls a tool. The arguments are nil, or any value that encodes to a JSON object. If the
// tool fails, CallTool returns a result with IsError set, and no error.
func (c *Client) CallTool(ctx context.Context, tool string, arguments any) (*CallToolResult, error) {
	params, err := c.params(tool, arguments)
	if err != nil {
		return nil, fmt.Errorf("server %q: tool %q: arguments: %w", c.options.Name, tool, err)
	}
	result := new(CallToolResult)
	if result.Meta, err = c.request(ctx, methodToolsCall, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// params returns params with a name and, unless arguments is nil, with arguments.
func (c *Client) params(name string, arguments any) (json.RawMessage, error) {
	w := jsonrpc.NewObject(nil)
	w.String("name", name)
	if arguments != nil {
		if err := c.codecs.EncodeMember(&w, "arguments", arguments); err != nil {
			return nil, err
		}
	}
	return w.Bytes(), nil
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string) (*ReadResourceResult, error) {
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	result := new(ReadResourceResult)
	meta, err := c.request(ctx, methodResourcesRead, w.Bytes(), result)
	if err != nil {
		return nil, err
	}
	result.Meta = meta
	return result, nil
}

// GetPrompt returns a prompt with its arguments filled in.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string) (*GetPromptResult, error) {
	var given any
	if arguments != nil {
		given = arguments
	}
	params, err := c.params(name, given)
	if err != nil {
		return nil, fmt.Errorf("server %q: prompt %q: arguments: %w", c.options.Name, name, err)
	}
	result := new(GetPromptResult)
	if result.Meta, err = c.request(ctx, methodPromptsGet, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Complete returns completions for the value of an argument.
func (c *Client) Complete(ctx context.Context, req CompletionRequest) (*Completion, error) {
	params, err := schema.Encode(nil, req)
	if err != nil {
		return nil, fmt.Errorf("server %q: %s: %w", c.options.Name, methodComplete, err)
	}
	var result struct {
		Completion Completion `json:"completion"`
	}
	if _, err = c.request(ctx, methodComplete, params, &result); err != nil {
		return nil, err
	}
	return &result.Completion, nil
}

// Do sends a request with any method, and returns its result. The params are one JSON object or
// nil.
func (c *Client) Do(ctx context.Context, method string, params json.RawMessage) (Result, error) {
	return c.do(ctx, NewRequest(method, params))
}

// request sends a request and decodes its result into the value that into points to.
func (c *Client) request(ctx context.Context, method string, params json.RawMessage, into any) (meta json.RawMessage, err error) {
	req := NewRequest(method, params)
	result, err := c.do(ctx, req)
	if err != nil {
		return nil, err
	}
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	if err := schema.DecodeLoose(body, into); err != nil {
		return nil, fmt.Errorf("server %q: %s: its result: %w", c.options.Name, describe(req), err)
	}
	return result.Meta, nil
}
