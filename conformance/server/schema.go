package main

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/mcp"
)

// schema2020 is a schema that the server must list unchanged, keyword for keyword.
const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {
		"$anchor": "addressDef",
		"type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
	}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

type headerInput struct {
	Region string `json:"region" doc:"Comes in the header Mcp-Param-Region as well." header:"Region"`
}

// addSchemaTools registers the tools whose input schemas the suite tests.
func addSchemaTools(s *mcp.Server) {
	s.AddTool(mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Tool with JSON Schema 2020-12 features",
		InputSchema: json.RawMessage(schema2020),
	}, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("Arguments: " + string(arguments))}}, nil
	})
	mcp.AddToolWith(s, about("test_x_mcp_header", "Takes an argument that a header repeats."), func(_ context.Context, in headerInput) (string, error) {
		return "Region: " + in.Region, nil
	})
}
