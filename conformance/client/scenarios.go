package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

// A scenario uses a connected client. The suite's server checks its messages.
type scenario func(ctx context.Context, c *mcp.Client, d details) error

var scenarios = map[string]scenario{
	"initialize":                          listTools,
	"request-metadata":                    listTools,
	"json-schema-ref-no-deref":            listTools,
	"tools_call":                          addNumbers,
	"elicitation-sep1034-client-defaults": callNamed("test_client_elicitation_defaults"),
	"sse-retry":                           callNamed("test_reconnection"),
	"json-schema-2020-12-preservation":    echoSchema,
	"sep-2322-client-request-state":       callNamed("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"),
	"http-standard-headers":               useEverything,
	"http-custom-headers":                 callGiven,
	"http-invalid-tool-headers":           callAll,
	"sep-2640-client-no-prefetch":         listSkills,
	"sep-2640-client-verify-digest":       loadSkills,
	"sep-2640-client-verify-size":         loadSkills,
	"sep-2640-client-verify-frontmatter":  loadSkills,
}

// listTools lists the tools and calls none.
func listTools(ctx context.Context, c *mcp.Client, _ details) error {
	_, err := tools(ctx, c)
	return err
}

func tools(ctx context.Context, c *mcp.Client) ([]*mcp.Tool, error) {
	var all []*mcp.Tool
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, tool)
	}
	return all, nil
}

// call calls a tool and returns an error if the tool fails.
func call(ctx context.Context, c *mcp.Client, tool string, arguments any) (*mcp.CallToolResult, error) {
	result, err := c.CallTool(ctx, tool, arguments)
	if err != nil {
		return nil, err
	}
	if result.IsError {
		return nil, fmt.Errorf("tool %q failed: %s", tool, result.Text())
	}
	return result, nil
}

// callNamed returns a scenario that calls tools one after the other, without arguments.
func callNamed(names ...string) scenario {
	return func(ctx context.Context, c *mcp.Client, d details) error {
		if err := listTools(ctx, c, d); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := call(ctx, c, name, struct{}{}); err != nil {
				return err
			}
		}
		return nil
	}
}

func addNumbers(ctx context.Context, c *mcp.Client, d details) error {
	if err := listTools(ctx, c, d); err != nil {
		return err
	}
	_, err := call(ctx, c, "add_numbers", map[string]int{"a": 5, "b": 3})
	return err
}

// echoSchema sends a tool's input schema back as it was received.
func echoSchema(ctx context.Context, c *mcp.Client, _ details) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	for _, tool := range all {
		if tool.Name == "json_schema_2020_12_tool" {
			_, err := call(ctx, c, "json_schema_echo", map[string]json.RawMessage{"schema": tool.InputSchema})
			return err
		}
	}
	return errors.New("the server lists no tool json_schema_2020_12_tool")
}

// useEverything lists and uses all tools, resources and prompts.
func useEverything(ctx context.Context, c *mcp.Client, d details) error {
	if err := callAll(ctx, c, d); err != nil {
		return err
	}
	for resource, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.ReadResource(ctx, resource.URI); err != nil {
			return err
		}
	}
	for prompt, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.GetPrompt(ctx, prompt.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// callGiven makes exactly the calls in the details.
func callGiven(ctx context.Context, c *mcp.Client, d details) error {
	if err := listTools(ctx, c, d); err != nil {
		return err
	}
	if len(d.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT holds no toolCalls")
	}
	for _, wanted := range d.ToolCalls {
		if _, err := call(ctx, c, wanted.Name, wanted.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every listed tool. The client does not list tools with an invalid definition.
func callAll(ctx context.Context, c *mcp.Client, _ details) error {
	all, err := tools(ctx, c)
	if err != nil {
		return err
	}
	for _, tool := range all {
		if _, err := call(ctx, c, tool.Name, arguments(tool.InputSchema)); err != nil {
			return err
		}
	}
	return nil
}

// arguments returns a value for each property of a schema.
func arguments(schema json.RawMessage) map[string]any {
	var object struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	made := map[string]any{}
	if json.Unmarshal(schema, &object) != nil {
		return made
	}
	values := map[string]any{"string": "value", "integer": 1, "number": 1.5, "boolean": true, "array": []any{}, "object": map[string]any{}}
	for name, property := range object.Properties {
		if value, known := values[property.Type]; known {
			made[name] = value
		}
	}
	return made
}
